/** No model has more of anything, and more would overflow what is counted from it. */
const MAX_NUMBER = 1_000_000;

/** Reads the fields of one object of a model's `config.json`, which may hold anything. */
export class ConfigFields {
  /** The object itself. */
  readonly object: unknown;

  constructor(object: unknown) {
    this.object = object;
  }

  /** The member of this name; undefined where there is none. */
  value(name: string): unknown {
    return fieldOf(this.object, name);
  }

  /** The object of this name, or of nothing. */
  inner(name: string): ConfigFields {
    return new ConfigFields(this.value(name));
  }

  /** The first of these that is a whole number from 1 to a million. */
  count(...names: readonly string[]): number | undefined {
    return names.map((name) => this.value(name)).find(isCount);
  }

  /** The whole number of this name from 0 to a million, else `otherwise`. */
  numberOr(name: string, otherwise: number): number {
    const value = this.value(name);
    return value === 0 || isCount(value) ? value : otherwise;
  }

  /** The text of this name; empty where there is none. */
  text(name: string): string {
    const value = this.value(name);
    return typeof value === 'string' ? value : '';
  }

  /** The list of this name, where it has one entry or more. */
  list(name: string): readonly unknown[] | undefined {
    const value = this.value(name);
    return Array.isArray(value) && value.length > 0 && value.length <= MAX_NUMBER ? value : undefined;
  }
}

/** Whether a value is a whole number from 1 to a million. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= MAX_NUMBER;
}

/** A member of an object, never an inherited one. */
export function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
