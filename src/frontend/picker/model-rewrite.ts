import type { ReadBody } from '../gateway/request-body.js';
import { keyOf } from '../json/light-json.js';

/** Names of models that are replaced in requests, with what they become. */
export type ModelRewrites = ReadonlyMap<string, string>;

/**
 * Replaces the model's name in a JSON body, and nothing else in it; undefined
 * where the body names no model that is replaced. Only a name that stands
 * without escapes is found.
 */
export function rewriteModel(
  { bytes, scan, boundary }: ReadBody,
  rewrites: ModelRewrites,
): Buffer | undefined {
  if (rewrites.size === 0 || boundary !== undefined) return undefined;
  // Of a field that stands twice the last one counts, as in JSON.parse.
  const field = scan.fields.findLast((one) => keyOf(bytes, one) === 'model');
  if (field === undefined) return undefined;
  const { valueStart, valueEnd } = field;
  let name: unknown;
  try {
    name = JSON.parse(bytes.toString('utf8', valueStart, valueEnd));
  } catch {
    // What is no JSON is refused when the body is read.
    return undefined;
  }
  const becomes = typeof name === 'string' ? rewrites.get(name) : undefined;
  if (becomes === undefined) return undefined;
  return Buffer.concat([
    bytes.subarray(0, valueStart),
    Buffer.from(JSON.stringify(becomes)),
    bytes.subarray(valueEnd),
  ]);
}
