/*
 * The one place that says what may be shown. Workers, engines, peers, manifests
 * and foreign logs choose their words, and what shows them (a terminal, a log, a
 * page, a label of a metric) must not be steered by them.
 *
 * Not printable are, by their Unicode categories: control characters of both
 * tables (Cc; U+009B begins an escape sequence as ESC does), format characters
 * (Cf: those that turn the direction of writing, U+200E/F, U+202A to U+202E and
 * U+2066 to U+2069, and those of no width, by which two names look the same),
 * separators of lines and paragraphs (Zl, Zp) and lone surrogates (Cs), which no
 * encoding has.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const EVERY_UNPRINTABLE: RegExp = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_BUT_LAYOUT: RegExp = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_RUN: RegExp = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
/** Looked for first: it is fifty times as fast as the classes of Unicode, and nearly every text is plain. */
const NOT_PLAIN = /[^\n\t\x20-\x7e]/;

/** Whether there is something in it that may not be shown; a line feed and a tab are. For names. */
export function hasUnprintable(text: string): boolean {
  return UNPRINTABLE.test(text);
}

/** With U+FFFD in place of what may not be shown. Line feeds and tabs stay. */
export function withoutControls(text: string): string {
  return NOT_PLAIN.test(text) ? text.replace(UNPRINTABLE_BUT_LAYOUT, '\ufffd') : text;
}

/** The same on one line, cut with an ellipsis after `maxChars` characters when that is given. */
export function onOneLine(text: string, maxChars: number = Number.POSITIVE_INFINITY): string {
  const line = withoutControls(text.replace(/\s+/g, ' ').trim());
  return line.length > maxChars ? `${line.slice(0, maxChars)}…` : line;
}

/** On one line, with a space in place of each run of what may not be shown. */
export function inPlainText(text: string): string {
  return text.replace(UNPRINTABLE_RUN, ' ');
}

/** With each of them in the form `\u009b`, as JSON and JavaScript write it. Nothing is lost. */
export function withEscapes(text: string): string {
  return text.replace(EVERY_UNPRINTABLE, escapeOf);
}

/** JSON that shows as what it is wherever it is printed; it reads back as `value`. `indent` is that of `JSON.stringify`. */
export function jsonText(value: unknown, indent?: number): string {
  // Layout of its own are line feeds alone; those of the values are escaped already.
  return printableJson(JSON.stringify(value, undefined, indent));
}

/** A line of JSON that another program has made, as `jsonText` makes it. */
export function printableJson(line: string): string {
  return NOT_PLAIN.test(line) ? line.replace(UNPRINTABLE_BUT_LAYOUT, escapeOf) : line;
}

/** One escape for each UTF-16 unit, so that a pair stays a pair. */
function escapeOf(character: string): string {
  let text = '';
  for (let at = 0; at < character.length; at += 1)
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}
