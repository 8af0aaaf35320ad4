import { JsonBoundsError, parseJson } from '../../edge/platform/data/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { excerpt, ProbeError } from '../../edge/platform/probe-error.js';

/** Reads a text that must be one JSON object. Throws a `ProbeError` that shows how it begins, or which bound it is beyond. */
export function parseJsonObject(text: string, origin: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof JsonBoundsError)
      throw new ProbeError('too_large', origin, `${error.message}; it was not read`);
    throw new ProbeError('bad_answer', origin, `expected a JSON object, got ${describeText(text)}`);
  }
  if (isJsonObject(value)) return value;
  throw new ProbeError('bad_answer', origin, `expected a JSON object, got ${excerpt(text)}`);
}

/** Says of a text that is no JSON what it looks like, so that a wrong port is recognised immediately. */
function describeText(text: string): string {
  const start = text.trimStart();
  if (start === '') return 'an empty body';
  if (start.startsWith('<')) return `HTML or XML: ${excerpt(start)}`;
  return `${text.length} characters that are no JSON (cut off?): ${excerpt(start)}`;
}
