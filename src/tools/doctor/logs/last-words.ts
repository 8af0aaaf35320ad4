/** What a program in Rust writes whose main function returns an error: `Error: it does not start Caused by: 0: … 1: …`. */
const LAST_WORDS = /^\s{0,8}(Error: .{1,2000}?) Caused by:? (\S.{0,2000})$/s;
/** The same of a text alone, in the form of a value: `Error: "the health check of … failed"`. */
const LAST_TEXT = /^\s{0,8}Error: "(.{1,2000})"\s{0,8}$/s;
const MAX_HEAD_CHARS = 90;
const CAUSED = ' (caused by: ';

/** The last words of a program with the last of its reasons, which happened first; undefined for other errors. */
export function lastWords(text: string): string | undefined {
  const value = LAST_TEXT.exec(text)?.[1];
  if (value !== undefined) return `Error: ${value.replaceAll('\\"', '"')}`;
  const [, head, reasons] = LAST_WORDS.exec(text) ?? [];
  if (head === undefined || reasons === undefined) return undefined;
  const reason = reasons.split(/(?:^| )\d{1,2}: /).at(-1) ?? '';
  return `${head.slice(0, MAX_HEAD_CHARS)}${CAUSED}${reason.trim()})`;
}

/** The last reason of such words. */
export function lastReasonOf(sentence: string): string | undefined {
  const at = sentence.lastIndexOf(CAUSED);
  if (!sentence.startsWith('Error: ') || at === -1) return undefined;
  return sentence.slice(at + CAUSED.length).replace(/\)$/, '');
}
