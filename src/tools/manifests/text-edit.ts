/** A change of a text: the characters from `start` up to `end` give way to `text`. */
export interface TextEdit {
  /** Offset in UTF-16 units, as in `String.prototype.slice`. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The text after all edits; every character outside of them stays as it is.
 * Throws a `RangeError` for edits that overlap or lie outside the text: two
 * fixes of the same place must be applied one after the other.
 */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const ordered = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  let result = '';
  let done = 0;
  for (const { start, end, text: replacement } of ordered) {
    if (start < done || end < start || end > text.length) {
      throw new RangeError(`an edit from ${start} to ${end} overlaps another or leaves the text`);
    }
    result += text.slice(done, start) + replacement;
    done = end;
  }
  return result + text.slice(done);
}

/** Whether two edits change the same place. Two insertions at one place do as well: which comes first would be chance. */
export function touches(a: TextEdit, b: TextEdit): boolean {
  return a.start <= b.end && b.start <= a.end;
}
