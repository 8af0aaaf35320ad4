import type { TextEdit } from '../../text-edit.js';
import type { InnerText } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';

/** Characters of all that one overlay is put together from: more is left as its files say it. */
const MAX_LENGTH = 32 * 1024 * 1024;
const MAX_PARTS = 5_000;

/**
 * The texts that an overlay is put together from, one behind the other. Offsets count in all of them together,
 * and every place of it is one of the file where it is written.
 */
export class JoinedSource implements TextSource {
  /** The kustomization. */
  readonly file: string;
  readonly #parts: { readonly start: number; readonly text: InnerText }[] = [];
  readonly #mayChange: (file: string) => boolean;
  #text = '';

  /** `mayChange` says whether a file belongs to this overlay alone. */
  constructor(file: string, mayChange: (file: string) => boolean) {
    this.file = file;
    this.#mayChange = mayChange;
  }

  get text(): string {
    return this.#text;
  }

  /** Adds a text, and returns where it begins; undefined when there is no room for it. */
  add(text: InnerText): number | undefined {
    const start = this.#text.length;
    if (start + text.value.length > MAX_LENGTH || this.#parts.length >= MAX_PARTS) return undefined;
    this.#parts.push({ start, text });
    this.#text += `${text.value}\n`;
    return start;
  }

  placeOf(offset: number): { readonly file: string; readonly line: number; readonly column: number } {
    const { source, start } = this.#spanAt(offset, offset + 1) ?? {
      source: { file: this.file, placeOf: () => ({ line: 1, column: 1 }) },
      start: 0,
    };
    return { file: source.file, ...source.placeOf(start) };
  }

  /** The same change in the file that the text comes from; undefined where it is of several, or not this overlay's alone. */
  inFile({ start, end, text }: TextEdit): { readonly file: string; readonly edit: TextEdit } | undefined {
    const first = this.#spanAt(start, Math.max(end, start + 1));
    if (first === undefined || !first.isExact) return undefined;
    const at = first.start;
    // A patch within a kustomization is a part of a part.
    if (first.source === this) return this.inFile({ start: at, end: at + (end - start), text });
    if (!this.#mayChange(first.source.file)) return undefined;
    return { file: first.source.file, edit: { start: at, end: at + (end - start), text } };
  }

  #spanAt(start: number, end: number): Span | undefined {
    let low = 0;
    let high = this.#parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#parts[middle]?.start ?? 0) <= start) low = middle;
      else high = middle - 1;
    }
    const part = this.#parts[low];
    return part?.text.spanOf(start - part.start, end - part.start);
  }
}
