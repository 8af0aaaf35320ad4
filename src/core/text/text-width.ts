/**
 * Characters that take two columns of a terminal: East Asian scripts, their
 * full-width forms and pictures, by Unicode's East Asian Width (W and F).
 * https://www.unicode.org/reports/tr11/
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Characters that are drawn upon the one before. */
const COMBINING = /\p{M}/u;
/** Looked for first: nearly every text is plain. */
const NOT_PLAIN = /[^\x20-\x7e]/;

/** Columns that a text takes on a terminal; it is on one line and has no escape sequences. */
export function textWidth(text: string): number {
  if (!NOT_PLAIN.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** As much of the beginning of `text` as fits into `columns`. */
export function cutToWidth(text: string, columns: number): string {
  if (text.length <= columns && !NOT_PLAIN.test(text)) return text;
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function characterWidth(character: string): number {
  if (WIDE.test(character)) return 2;
  return COMBINING.test(character) ? 0 : 1;
}
