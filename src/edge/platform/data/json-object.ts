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
