import type { JsonScan, ScannedField } from '../../edge/platform/data/json-scan.js';
import { readTokenIdList } from './token-id-list.js';

/**
 * Values of a text that are parsed on the event loop, where each takes up to half a microsecond, and as much again wherever
 * the parsed text goes. A conversation of 10,000 messages has 50,000.
 */
const MAX_PARSED_VALUES = 65_536;
/** Bytes of a text that are parsed on the event loop: a prompt of two million tokens. */
const MAX_PARSED_BYTES = 8 * 1024 * 1024;

/** A JSON text of which only as much was parsed as the event loop can bear. */
export interface LightJson {
  /**
   * All of it, but for the outermost fields that were left out, which are null;
   * undefined when there is too much beside them, or no object around them.
   */
  readonly value: unknown;
  /** Whether something was left out. */
  readonly isCut: boolean;
}

/**
 * Parses a JSON text but for its heaviest outermost fields, where the whole
 * would hold up all other requests. A long list of token ids in the field
 * `tokenField` becomes a `Uint32Array`, in a way of its own that is as fast as
 * reading. Throws the parser's `SyntaxError` when what is parsed is no JSON.
 */
export function parseLightJson(text: Buffer, scan: JsonScan, tokenField: string): LightJson {
  const heavy = heavyFields(scan);
  if (heavy === undefined) return { value: undefined, isCut: true };
  if (heavy.length === 0) return { value: JSON.parse(text.toString('utf8')), isCut: false };
  const value: unknown = JSON.parse(withoutFields(text, heavy));
  // Of fields with one name the last one counts.
  const field = scan.fields.findLast((field) => keyOf(text, field) === tokenField);
  const tokens =
    field !== undefined && heavy.includes(field)
      ? readTokenIdList(text.subarray(field.valueStart, field.valueEnd), field.values)
      : undefined;
  if (tokens === undefined) return { value, isCut: true };
  return { value: { ...(value as object), [tokenField]: tokens }, isCut: heavy.length > 1 };
}

const NO_FIELDS: readonly ScannedField[] = [];

/** The fewest fields without which the rest can be parsed, in the order of the text; undefined when it never can. */
function heavyFields({ values, bytes, fields }: JsonScan): readonly ScannedField[] | undefined {
  if (values <= MAX_PARSED_VALUES && bytes <= MAX_PARSED_BYTES) return NO_FIELDS;
  const left = { values, bytes };
  const heavy = new Set<ScannedField>();
  const leaveOut = (max: number, measure: 'values' | 'bytes'): void => {
    if (left[measure] <= max) return;
    for (const field of fields.toSorted((a, b) => sizeOf(b)[measure] - sizeOf(a)[measure])) {
      if (left[measure] <= max) return;
      if (heavy.has(field)) continue;
      heavy.add(field);
      left.values -= sizeOf(field).values;
      left.bytes -= sizeOf(field).bytes;
    }
  };
  leaveOut(MAX_PARSED_VALUES, 'values');
  leaveOut(MAX_PARSED_BYTES, 'bytes');
  if (left.values > MAX_PARSED_VALUES || left.bytes > MAX_PARSED_BYTES) return undefined;
  return [...heavy].sort((a, b) => a.valueStart - b.valueStart);
}

function sizeOf({ values, valueStart, valueEnd }: ScannedField): { values: number; bytes: number } {
  return { values, bytes: valueEnd - valueStart };
}

function withoutFields(body: Buffer, fields: readonly ScannedField[]): string {
  let text = '';
  let from = 0;
  for (const { valueStart, valueEnd } of fields) {
    text += `${body.toString('utf8', from, valueStart)}null`;
    from = valueEnd;
  }
  return text + body.toString('utf8', from);
}

/** Longest key, as it is written, that is compared with a field's name: each character may be six. */
const MAX_KEY_BYTES = 64;

/** The name of a field; undefined for one that is longer than any that is looked for. */
export function keyOf(body: Buffer, { keyStart, keyEnd }: ScannedField): unknown {
  if (keyEnd - keyStart > MAX_KEY_BYTES) return undefined;
  try {
    return JSON.parse(body.toString('utf8', keyStart, keyEnd));
  } catch {
    // No key of JSON, so not the one that is looked for; the parser says so of the whole.
    return undefined;
  }
}
