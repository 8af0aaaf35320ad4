import type { Span } from '../text/span.js';

/** What is known of a text that depends on something known only at run time. */
export interface KnownParts {
  readonly prefix: string;
  readonly suffix: string;
  /** All of it, with `UNKNOWN` in each place that is not known; absent where there is one such place. */
  readonly text?: string;
}

/** A word of a command as its program gets it. */
export interface Word {
  /** Undefined when it depends on something that is known only at run time. */
  readonly value: string | undefined;
  readonly span: Span;
  /** Whether it may stand for any number of further arguments: `$EXTRA_ARGS`, `"$@"`. */
  readonly mayBeMore: boolean;
  /** What is known of a word without a value: `--block-size=` of `--block-size=$SIZE`, `/agg.yaml` of `$DIR/agg.yaml`. */
  readonly known?: KnownParts;
}

/** Stands in texts for what is known only at run time. No manifest has it: it is for private use. */
export const UNKNOWN = '\uE000';

/** Longest word that expansions may produce: the limit of Linux for one argument. */
const MAX_WORD_LENGTH = 128 * 1024;

/** A word of a text that may have unknown parts. */
export function wordOfText(text: string, span: Span, mayBeMore: boolean): Word {
  const first = text.indexOf(UNKNOWN);
  if (first === -1) return { value: text, span, mayBeMore: false };
  return { value: undefined, span: { ...span, isExact: false }, mayBeMore, known: knownParts(text) };
}

/** The parts of a text that has `UNKNOWN` in it. */
function knownParts(text: string): KnownParts {
  const first = text.indexOf(UNKNOWN);
  const last = text.lastIndexOf(UNKNOWN);
  const ends = { prefix: text.slice(0, first), suffix: text.slice(last + 1) };
  return first === last ? ends : { ...ends, text };
}

/** Those behind its first characters, which are known. */
export function cutParts(parts: KnownParts | undefined, from: number): KnownParts {
  const { prefix = '', suffix = '', text } = parts ?? {};
  return { prefix: prefix.slice(from), suffix, ...(text === undefined ? {} : { text: text.slice(from) }) };
}

/** The text of a word, with `UNKNOWN` for what is not known of it. */
export function textOfWord({
  value,
  known,
}: {
  readonly value: string | undefined;
  readonly known?: Word['known'] | undefined;
}): string {
  return value ?? known?.text ?? `${known?.prefix ?? ''}${UNKNOWN}${known?.suffix ?? ''}`;
}

/** The whole words with which texts begin that are more than one word each; undefined where there are none. */
export function commonStart(texts: readonly (string | undefined)[]): string | undefined {
  const [first, ...others] = texts.map((text) => text?.split(/\s+/));
  if (first === undefined || others.includes(undefined)) return undefined;
  const end = first.findIndex((word, at) => others.some((other) => other?.[at] !== word));
  const common = end === -1 ? first : first.slice(0, end);
  return common.length > 1 ? common.join(' ') : undefined;
}

/** `UNKNOWN` for what no program could be given: variables in variables grow beyond any measure. */
export function joinTexts(parts: readonly string[]): string {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return length <= MAX_WORD_LENGTH ? parts.join('') : UNKNOWN;
}

/** What `$1`, `$2` and so on are; undefined where one word may be several. */
export function givenBy(args: readonly Word[]): readonly string[] | undefined {
  return args.some(({ mayBeMore }) => mayBeMore) ? undefined : args.map(textOfWord);
}
