import { JsonScan } from './json-scan.js';

/** Bounds of a JSON text that this program did not write, and of what it becomes. */
export interface JsonBounds {
  /** Length of the text. */
  readonly maxBytes: number;
  /** Deepest nesting. */
  readonly maxDepth: number;
  /** Lists, objects, members and elements together: what the time of parsing grows with. */
  readonly maxValues: number;
  /** Upper bound of the memory that the parsed text takes. */
  readonly maxMemoryBytes: number;
}

/**
 * The bounds of an answer that a small process reads: 1 MiB, of which at most 16 MiB of memory and some 40 ms of work can be
 * made. The largest recorded answer of an engine, SGLang's `/server_info`, has 43 KiB, 1,500 values and a depth of 5.
 */
export const DEFAULT_JSON_BOUNDS: JsonBounds = {
  maxBytes: 1024 * 1024,
  maxDepth: 64,
  maxValues: 131_072,
  maxMemoryBytes: 16 * 1024 * 1024,
};

/** A text that is beyond its bounds; the message says which bound, and fits behind the name of its source. */
export class JsonBoundsError extends RangeError {
  override readonly name = 'JsonBoundsError';
}

/** Why a text is not parsed; undefined when it is within its bounds. */
function describeExcess(scan: JsonScan, bounds: JsonBounds): string | undefined {
  if (scan.bytes > bounds.maxBytes) return `has more than ${bounds.maxBytes} bytes`;
  if (scan.depth > bounds.maxDepth) return `is nested deeper than ${bounds.maxDepth} levels`;
  if (scan.values > bounds.maxValues) return `has more than ${bounds.maxValues} JSON values`;
  if (scan.memoryBytes > bounds.maxMemoryBytes)
    return `would take more than ${bounds.maxMemoryBytes} bytes of memory`;
  return undefined;
}

/**
 * Parses a JSON text that this program did not write. Throws a `JsonBoundsError` before
 * anything is made of a text beyond `bounds`, and the parser's `SyntaxError`
 * for one that is no JSON.
 */
export function parseJson(text: string | Uint8Array, bounds: JsonBounds = DEFAULT_JSON_BOUNDS): unknown {
  const excess = findTextExcess(text, bounds);
  if (excess !== undefined) throw new JsonBoundsError(excess);
  return JSON.parse(
    typeof text === 'string' ? text : Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString(),
  );
}

/** The same, for what may be anything: undefined for what is no JSON, and for what is beyond `bounds`. */
export function tryParseJson(text: string | Uint8Array, bounds: JsonBounds = DEFAULT_JSON_BOUNDS): unknown {
  try {
    return parseJson(text, bounds);
  } catch {
    // Both kinds of error say that nothing can be read of it.
    return undefined;
  }
}

/** Why a text must not be given to any JSON parser; undefined when it is within its bounds. */
export function findTextExcess(text: string | Uint8Array, bounds: JsonBounds): string | undefined {
  const scan = new JsonScan();
  // Text as a string has at least as many bytes as characters: no copy is made of what is too long anyway.
  if (text.length > bounds.maxBytes) scan.bytes = text.length;
  else scan.add(typeof text === 'string' ? Buffer.from(text) : text);
  return describeExcess(scan, bounds);
}
