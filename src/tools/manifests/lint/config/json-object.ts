import { tryParseJson } from '../../../../edge/platform/data/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../../../edge/platform/data/json-object.js';

/** The object that a JSON text of a flag has; undefined where it is none. */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const value = tryParseJson(text);
  return isJsonObject(value) ? value : undefined;
}
