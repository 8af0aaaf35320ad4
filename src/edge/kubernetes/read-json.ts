import { isJsonObject, type JsonObject } from '../platform/data/json-object.js';

/** `value` when it is an object, else undefined. */
export function asRecord(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** What stands at a path of field names; undefined where there is none. */
export function valueAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    const record = asRecord(at);
    if (record === undefined || !Object.hasOwn(record, name)) return undefined;
    at = record[name];
  }
  return at;
}

/** The text at a path; undefined where there is none, or it is empty. */
export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** The whole number at a path; undefined where there is none. */
export function integerAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) ? found : undefined;
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}
