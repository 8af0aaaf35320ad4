import { Scalar } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import type { Located, Span, TextSource } from './span.js';

/** A text inside a file: a scalar of YAML, a part of a shell script, or a whole file. */
export interface InnerText {
  readonly value: string;
  /** Where a part of the value stands. */
  spanOf(start: number, end: number): Span;
}

/** Longest scalar whose characters are matched with the file's; of a longer one only the start is located. */
const MAX_MATCHED_LENGTH = 1024 * 1024;

/** A YAML scalar as a text whose characters have places in the file. */
export function scalarText(source: TextSource, placed: PlacedText): InnerText {
  const { value, start, end } = placed;
  let offsets: readonly number[] | undefined;
  return {
    value,
    spanOf(from, to) {
      offsets ??= mapOffsets(source.text, placed);
      const first = offsets?.[from];
      const last = to > from ? offsets?.[to - 1] : undefined;
      if (first === undefined || last === undefined) {
        return { source, start, end, isExact: false };
      }
      const isExact = source.text.slice(first, last + 1) === value.slice(from, to);
      return { source, start: first, end: last + 1, isExact };
    },
  };
}

/** All of a text. */
export function wholeText(source: TextSource): InnerText {
  return { value: source.text, spanOf: (start, end) => ({ source, start, end, isExact: true }) };
}

/** A script as a shell has it that was checked out with other line ends: without the carriage returns in front of them. */
export function scriptText(source: TextSource): InnerText {
  const whole = wholeText(source);
  if (!source.text.includes('\r\n')) return whole;
  const value = source.text.replace(/\r\n/g, '\n');
  // Where each line begins in the file and in what is read of it.
  const lines: { readonly at: number; readonly shift: number }[] = [{ at: 0, shift: 0 }];
  for (let at = source.text.indexOf('\r\n'); at !== -1; at = source.text.indexOf('\r\n', at + 1))
    lines.push({ at: at + 1 - (lines.length - 1), shift: lines.length });
  const shiftAt = (offset: number): number => {
    let low = 0;
    let high = lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((lines[middle]?.at ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return lines[low]?.shift ?? 0;
  };
  return {
    value,
    spanOf(start, end) {
      const first = start + shiftAt(start);
      const last = end > start ? end - 1 + shiftAt(end - 1) + 1 : first;
      return { source, start: first, end: last, isExact: last - first === end - start };
    },
  };
}

/** A part of a text as a text of its own. */
export function partOf(text: InnerText, from: number, to: number): InnerText {
  return {
    value: text.value.slice(from, to),
    spanOf: (start, end) => text.spanOf(from + start, from + end),
  };
}

/** A value that is a text of its own: the words of a script, or a file in one argument. */
export function textOf({ value, span }: Located): InnerText {
  return {
    value,
    spanOf: (start, end) =>
      span.isExact ? { ...span, start: span.start + start, end: span.start + end } : span,
  };
}

/** A YAML scalar as one value. */
export function locateScalar(source: TextSource, placed: PlacedText): Located {
  return { value: placed.value, span: scalarText(source, placed).spanOf(0, placed.value.length) };
}

/** The offset in the file of each character of a scalar's value; undefined when they cannot be matched. */
function mapOffsets(text: string, { value, start, end, type }: PlacedText): readonly number[] | undefined {
  if (value.length > MAX_MATCHED_LENGTH) {
    return undefined;
  }
  switch (type) {
    case Scalar.QUOTE_DOUBLE:
      return align(value, doubleQuoted(text, start + 1, end - 1));
    case Scalar.QUOTE_SINGLE:
      return align(value, singleQuoted(text, start + 1, end - 1));
    case Scalar.BLOCK_FOLDED:
    case Scalar.BLOCK_LITERAL: {
      const body = text.indexOf('\n', start);
      return body === -1 ? undefined : align(value, plain(text, body + 1, end));
    }
    default:
      return align(value, plain(text, start, end));
  }
}

/** A character of the source: which it stands for, and where it is. */
interface SourceCharacter {
  readonly character: string;
  readonly at: number;
}

const isSpace = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);

/**
 * Folding and indentation change white space alone: the characters that are
 * none stand in the same order in both. White space takes the place behind what is in front of it.
 */
function align(value: string, source: Iterable<SourceCharacter>): readonly number[] | undefined {
  const offsets: number[] = [];
  const characters = source[Symbol.iterator]();
  let previous = -1;
  for (const character of value.split('')) {
    if (isSpace(character)) {
      offsets.push(previous + 1);
      previous += 1;
      continue;
    }
    let next = characters.next();
    while (!next.done && isSpace(next.value.character)) {
      next = characters.next();
    }
    if (next.done || next.value.character !== character) {
      return undefined;
    }
    offsets.push(next.value.at);
    previous = next.value.at;
  }
  return offsets;
}

function* plain(text: string, start: number, end: number): Iterable<SourceCharacter> {
  for (let at = start; at < end; at += 1) {
    yield { character: text.charAt(at), at };
  }
}

function* singleQuoted(text: string, start: number, end: number): Iterable<SourceCharacter> {
  for (let at = start; at < end; at += 1) {
    yield { character: text.charAt(at), at };
    if (text.charAt(at) === "'") {
      at += 1;
    }
  }
}

/** Escapes that stand for one character with the same name in the value; others are not followed. */
const ESCAPED_SPACE: readonly string[] = ['n', 't', 'r', ' ', '_', '\n', '\r'];

function* doubleQuoted(text: string, start: number, end: number): Iterable<SourceCharacter> {
  for (let at = start; at < end; at += 1) {
    const character = text.charAt(at);
    if (character !== '\\') {
      yield { character, at };
      continue;
    }
    at += 1;
    const escaped = text.charAt(at);
    yield { character: ESCAPED_SPACE.includes(escaped) ? ' ' : escaped, at };
  }
}
