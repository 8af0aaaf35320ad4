/** Names in one sentence before the rest is counted. */
export const MAX_NAMES = 10;

/** Longest part that one of several has in a sentence, in UTF-16 units. */
const MAX_PART_CHARS = 300;

/** A text cut to at most `maxChars` UTF-16 units; what was cut shows as `…`. */
export function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}

/** `worker` or `workers`, `has` or `have`: the form for `count`; `many` where it is not `one` and an s. */
export function formFor(count: number, one: string, many: string = `${one}s`): string {
  return count === 1 ? one : many;
}

/** `1 worker`, `2 workers`; `many` where it is not `one` and an s. */
export function countOf(count: number, one: string, many?: string): string {
  return `${count} ${formFor(count, one, many)}`;
}

/** ` and 3 more`, or ` and 3 more values` of `things`; empty when `rest` is 0 or less. To follow a list. */
export function andMore(rest: number, things = ''): string {
  if (rest <= 0) return '';
  return things === '' ? ` and ${rest} more` : ` and ${rest} more ${things}`;
}

/** `a, b and 3 more`: the first `max` names (10 unless given), each of a bounded length, and how many follow. */
export function nameSome(names: readonly string[], max: number = MAX_NAMES): string {
  const shown = names.slice(0, max).map((name) => clip(name, MAX_PART_CHARS));
  return `${shown.join(', ')}${andMore(names.length - max)}`;
}

/** Reasons in one text of at most `maxChars` UTF-16 units; those that have no room are counted. */
export function joinSome(reasons: readonly string[], maxChars: number): string {
  const [only] = reasons;
  // One reason alone may be longer than one of several.
  if (reasons.length === 1 && only !== undefined) return clip(only, maxChars);
  const shown: string[] = [];
  let chars = 0;
  for (const reason of reasons) {
    const part = clip(reason, MAX_PART_CHARS);
    if (chars + part.length > maxChars - MAX_PART_CHARS && shown.length > 0) break;
    shown.push(part);
    chars += part.length + 2;
  }
  return `${shown.join('; ')}${andMore(reasons.length - shown.length)}`;
}
