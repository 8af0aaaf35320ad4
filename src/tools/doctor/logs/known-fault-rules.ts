import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import { KNOWN_FAULT_SIGNS, type KnownFaultSign } from '../known-faults/known-fault-signs.js';

/** Fields of a record that have the error which its message is about. */
const ERROR_FIELDS = ['error', 'err', 'exception'] as const;

/** Of a longer message a pattern gets so many characters before and from its needle on: patterns that go back cost the square of these. */
const BEFORE_CHARS = 1_000;
const FROM_CHARS = 2_500;

/** What stands a few lines above others, and has the words that they lack. */
const WORDS: readonly string[] = [...new Set(KNOWN_FAULT_SIGNS.flatMap(({ above = [] }) => above))];

/** What stands above sentences of known faults that depend on it, or below those that pass. */
const MARKS: readonly string[] = [
  ...new Set(
    KNOWN_FAULT_SIGNS.flatMap(({ below = [], notBelow = [], healedBy = [] }) => [
      ...below,
      ...notBelow,
      ...healedBy,
    ]),
  ),
];

/** A rule for each sentence of a known fault, and before them one for each mark that some depend on. */
export const KNOWN_FAULT_RULES: readonly LogRule[] = [
  ...WORDS.map((mark) => ({ ...rule(mark, (line, found) => found.addWords(mark, line)), comesFirst: true })),
  ...MARKS.map((mark) => ({ ...rule(mark, (line, found) => found.addMark(mark, line)), comesFirst: true })),
  ...KNOWN_FAULT_SIGNS.flatMap((sign) =>
    sign.needles.map((needle) => ({ ...rule(needle, readAs(sign, needle)), comesFirst: true })),
  ),
];

function readAs(
  { id, pattern, below, notBelow, above, passesOn }: KnownFaultSign,
  needle: string,
): LogRule['read'] {
  let compiled: RegExp | undefined;
  return (line, found) => {
    if (pattern !== undefined) compiled ??= new RegExp(...pattern);
    const match =
      compiled === undefined
        ? []
        : compiled.exec(around(needle, `${found.wordsAbove(above, line)}${messageOf(line)}`));
    if (match !== null)
      found.addKnownFault(id, line, { values: match.slice(1), about: needle, below, notBelow, passesOn });
  };
}

function messageOf({ text, fields }: LogLine): string {
  const errors = ERROR_FIELDS.flatMap((name) => {
    const value = fields?.[name];
    return typeof value === 'string' && !text.includes(value) ? [value] : [];
  });
  return errors.length === 0 ? text : [text, ...errors].join(': ');
}

function around(needle: string, message: string): string {
  if (message.length <= BEFORE_CHARS + FROM_CHARS) return message;
  const at = Math.max(message.indexOf(needle), 0);
  return message.slice(Math.max(at - BEFORE_CHARS, 0), at + FROM_CHARS);
}
