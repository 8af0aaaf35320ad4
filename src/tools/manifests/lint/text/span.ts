import type { TextEdit } from '../../text-edit.js';

/** A text that findings have places in. */
export interface TextSource {
  /** As the operator wrote it. */
  readonly file: string;
  readonly text: string;
  /** Line and column, from 1, of an offset; and the file, where the text is put together from several. */
  placeOf(offset: number): { readonly file?: string; readonly line: number; readonly column: number };
  /** A change of a text that is put together from several files, in the file that it belongs to; undefined where there is no such one. */
  inFile?(edit: TextEdit): { readonly file: string; readonly edit: TextEdit } | undefined;
}

/** A part of a text, half open. */
export interface Span {
  readonly source: TextSource;
  readonly start: number;
  readonly end: number;
  /**
   * Whether the characters there are the value itself. Where quoting or
   * escapes stand between, the span is the nearest place that is known, and
   * nothing may be changed there.
   */
  readonly isExact: boolean;
}

/** A text that is a value here, such as a word of a command, with where it comes from. */
export interface Located {
  readonly value: string;
  readonly span: Span;
}

/** What is written at a span. */
export function textAt({ source, start, end }: Span): string {
  return source.text.slice(start, end);
}
