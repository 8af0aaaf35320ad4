import { UNKNOWN } from '../shell/words.js';

/** A bracket expression: `[^]a-z[:space:]]`. */
const BRACKETS = String.raw`\[\^?\]?(?:\[:\w+:\]|[^\]])*\]?`;

/** The parts of a pattern: what repeats the character before it, what stands for others, and texts. */
const BASIC = new RegExp(
  String.raw`(?<again>\*|\\[+?]|\\\{[\d,]*\\\})|(?<other>\\[\w<>()]|${BRACKETS}|[.^$${UNKNOWN}])|\\?(?<text>.)`,
  'gs',
);
const EXTENDED = new RegExp(
  String.raw`(?<again>[*+?]|\{[\d,]*\})|(?<other>\\[\w<>]|${BRACKETS}|[.^$()${UNKNOWN}])|\\?(?<text>.)`,
  'gs',
);

/** Branches, and groups that only look: what stands in these need not be in a line. */
const OPEN_BASIC = /\\\|/;
const OPEN_EXTENDED = /(?<!\\)(?:\||\(\?)/;

/** The texts that stand in whatever a pattern matches, one behind the other; none where that cannot be said. */
export function patternTexts(pattern: string, isExtended: boolean): readonly string[] {
  if ((isExtended ? OPEN_EXTENDED : OPEN_BASIC).test(pattern)) return [];
  const texts: string[] = [];
  let text = '';
  const close = (): void => {
    if (text.trim() !== '') texts.push(text);
    text = '';
  };
  for (const { groups } of pattern.matchAll(isExtended ? EXTENDED : BASIC)) {
    if (groups?.['text'] !== undefined) {
      text += groups['text'];
      continue;
    }
    // What is repeated may also be absent.
    if (groups?.['again'] !== undefined) text = text.slice(0, -1);
    close();
  }
  close();
  return texts;
}
