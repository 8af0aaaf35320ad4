import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { asJson, showValue } from '../../edge/platform/probe-error.js';
import type { FactSheet } from './fact-sheet.js';

/** Longest text that is taken for a name, a path or an address. */
const MAX_TEXT_CHARS = 1_024;
/** Longest list of names: adapters, served names, ranks. */
export const MAX_LIST_LENGTH = 1_024;

/**
 * Reads the fields of a foreign JSON object one by one. Absent and null give
 * undefined; a value of the wrong type gives undefined too and a warning that
 * names the field and the value, so that one odd field loses no other.
 */
export class JsonReader {
  readonly #object: JsonObject;
  readonly #sheet: FactSheet;
  readonly #path: string;

  constructor(object: JsonObject, sheet: FactSheet, path = '') {
    this.#object = object;
    this.#sheet = sheet;
    this.#path = path;
  }

  /** Whether the field is there and not null. */
  has(name: string): boolean {
    return this.#get(name) !== undefined;
  }

  /** Whether the field is there, if only as null. */
  isStated(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  /** An integer from 0 to 2^53-1. */
  whole(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0))
      return value;
    return this.#wrong(name, value, 'a whole number from 0 to 2^53-1');
  }

  /** A text of at least one and at most 1,024 characters; the empty text is absent. */
  text(name: string): string | undefined {
    const value = this.#get(name);
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string' && value.length <= MAX_TEXT_CHARS) return value;
    return this.#wrong(name, value, `a text of at most ${MAX_TEXT_CHARS} characters`);
  }

  /** A number of any kind; JSON has no infinities. */
  number(name: string): number | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === 'number') return value;
    return this.#wrong(name, value, 'a number');
  }

  flag(name: string): boolean | undefined {
    const value = this.#get(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#wrong(name, value, 'true or false');
  }

  /** A reader of the object in that field. */
  child(name: string): JsonReader | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (isJsonObject(value)) return new JsonReader(value, this.#sheet, `${this.#path}${name}.`);
    return this.#wrong(name, value, 'an object');
  }

  /** Readers of the objects in a list of at most 1,024; other members are left out with a warning. */
  children(name: string): readonly JsonReader[] | undefined {
    const value = this.#get(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.#wrong(name, value, 'a list');
    if (value.length > MAX_LIST_LENGTH) {
      this.#sheet.warn(`${this.#path}${name} has ${value.length} members; only ${MAX_LIST_LENGTH} were read`);
    }
    return value.slice(0, MAX_LIST_LENGTH).flatMap((member: unknown, index) => {
      if (isJsonObject(member))
        return [new JsonReader(member, this.#sheet, `${this.#path}${name}[${index}].`)];
      this.#wrong(`${name}[${index}]`, member, 'an object');
      return [];
    });
  }

  /** Readers by key of an object whose values are objects. */
  entries(): readonly (readonly [string, JsonReader])[] {
    return Object.keys(this.#object)
      .slice(0, MAX_LIST_LENGTH)
      .flatMap((key) => {
        const child = this.child(key);
        return child === undefined ? [] : [[key, child] as const];
      });
  }

  /** The field as JSON, for evidence: `page_size: 32`. */
  raw(...names: readonly string[]): string {
    return names.map((name) => `${this.#path}${name}: ${asJson(this.#get(name) ?? null)}`).join(', ');
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }

  #wrong(name: string, value: unknown, expected: string): undefined {
    this.#sheet.warn(`${this.#path}${name} is ${showValue(value)}; expected ${expected}`);
    return undefined;
  }
}
