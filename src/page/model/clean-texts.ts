import { withoutControls } from '../../core/text/printable.js';

/** Deepest nesting that is followed: an answer of this program has fewer than ten levels. */
const MAX_DEPTH = 32;

/**
 * An answer with U+FFFD in place of every character that may not be shown: workers choose their names, and a name must
 * not turn the direction of the line that it stands in, or look like another one. Done once, where data comes in, so
 * that no view can forget it.
 */
export function cleanTexts<Value>(value: Value): Value {
  return clean(value, MAX_DEPTH) as Value;
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return withoutControls(value);
  if (value === null || typeof value !== 'object') return value;
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return value.map((each) => clean(each, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [withoutControls(name), clean(each, depth - 1)]),
  );
}
