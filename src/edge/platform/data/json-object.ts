/** A JSON object as it came: nothing about its fields is known. */
export type JsonObject = { readonly [field: string]: unknown };

/** Whether a value is an object with fields, not null and not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a field of JSON says something: engines take null for absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The value when it is an object, else an empty one. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Whether a value is a count: a whole number from 0 to 2^53 - 1. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
