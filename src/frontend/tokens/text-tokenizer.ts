import { Tokenizer } from '@huggingface/tokenizers';
import { LRUCache } from 'lru-cache';
import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { InexactError } from './jinja/errors.js';

/** What a remembered piece costs beside its text and its tokens. */
const ENTRY_BYTES = 128;

/**
 * Characters that JavaScript and Hugging Face's library split or normalise
 * differently: blanks of one of them alone, and those whose kind or normal form
 * came with a Unicode (12.1 to 17) that the tables of one of them lack.
 */
const UNSURE_CHARACTERS =
  /[\u0085\ufeff\u32ff\ua7f1-\ua7f4\uab69\u{10780}-\u{107ba}\u{11380}-\u{113ff}\u{11de0}-\u{11de9}\u{16100}-\u{1613f}\u{16d40}-\u{16d7f}\u{16ff4}-\u{16ff6}\u{1ccd6}-\u{1ccf9}\u{1e030}-\u{1e06d}\u{1f16c}\u{1fbf0}-\u{1fbf9}]/u;

/** Of the memory, the part for pieces that texts begin with: there is one for each system prompt. */
const FIRST_SHARE = 4;

/** Tokens that stand before and behind every text. */
interface Frame {
  readonly before: Uint32Array;
  readonly after: Uint32Array;
}

const NO_FRAME: Frame = { before: new Uint32Array(), after: new Uint32Array() };

/** A token that is found in a text before anything else is done with it. */
interface AddedToken {
  readonly content: string;
  /** Whether it takes the blanks behind it with it. */
  readonly rstrip: boolean;
}

/**
 * A tokenizer of Hugging Face's format. A text falls apart at its added tokens
 * before it is normalised or split, and what stands between two of them gives
 * the same tokens wherever it stands, but perhaps at the start of the text. So the pieces of a conversation that were
 * tokenised once are remembered, and only what is new is tokenised.
 */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  /** Finds every added token, the longest first; undefined when pieces cannot be distinguished. */
  readonly #added: RegExp | undefined;
  /** Those behind which a text may be cut. */
  readonly #boundaryTokens: ReadonlySet<string>;
  readonly #pieces: LRUCache<string, Uint32Array> | undefined;
  /** The pieces that texts begin with, where those have other tokens than the same elsewhere. */
  readonly #firstPieces: LRUCache<string, Uint32Array> | undefined;
  /** The tokens around every text; undefined where they are not known apart from it. */
  readonly #frame: Frame | undefined;
  /** The token that stands here where an engine has a character's bytes. */
  readonly #unsureId: unknown;

  /** `files` are `tokenizer.json` and `tokenizer_config.json`. Throws on what cannot be used, or not exactly. */
  constructor(
    files: { readonly tokenizer: unknown; readonly config: unknown },
    options: {
      /** Memory for pieces that are remembered; 0 remembers nothing. */
      readonly maxRememberedBytes: number;
    },
  ) {
    const { tokenizer, config } = files;
    if (!isJsonObject(tokenizer)) throw new Error('it is no JSON object');
    const added = Array.isArray(tokenizer['added_tokens'])
      ? tokenizer['added_tokens'].filter(isJsonObject)
      : [];
    const single = added.find((token) => token['single_word'] === true);
    if (single !== undefined)
      throw new Error(`its added token "${single['content']}" is a single_word, which is not supported`);
    this.#tokenizer = new Tokenizer(
      { ...tokenizer, added_tokens: added },
      isJsonObject(config) ? config : {},
    );
    this.#unsureId = unsureIdOf(tokenizer['model']);
    const unnormalised = unnormalisedOf(tokenizer, added);
    this.#boundaryTokens = new Set(
      unnormalised.filter(({ rstrip }) => !rstrip).map(({ content }) => content),
    );
    const { maxRememberedBytes } = options;
    if (this.#boundaryTokens.size === 0 || maxRememberedBytes === 0) return;
    this.#added = anyOf(unnormalised.map(({ content }) => content));
    const firstBytes = dependsOnPlace(tokenizer['pre_tokenizer'])
      ? Math.ceil(maxRememberedBytes / FIRST_SHARE)
      : 0;
    this.#pieces = memoryOf(maxRememberedBytes - firstBytes);
    this.#firstPieces = firstBytes === 0 ? undefined : memoryOf(firstBytes);
    this.#frame = this.#frameOf(tokenizer['post_processor']);
  }

  /** The tokens of a text, with those that the tokenizer puts around it or without. Throws when it has none for a part. */
  encode(text: string, addSpecialTokens: boolean): Uint32Array {
    if (UNSURE_CHARACTERS.test(text))
      throw new InexactError('a character that is not split alike everywhere');
    const frame = addSpecialTokens ? this.#frame : NO_FRAME;
    return frame === undefined || this.#pieces === undefined
      ? this.#encodeWhole(text, addSpecialTokens)
      : this.#encodePieces(text, this.#pieces, frame);
  }

  #encodePieces(text: string, pieces: LRUCache<string, Uint32Array>, frame: Frame): Uint32Array {
    const parts: Uint32Array[] = [frame.before];
    let length = frame.before.length + frame.after.length;
    for (const { piece, behind } of this.#cut(text)) {
      const known = behind === '' ? (this.#firstPieces ?? pieces) : pieces;
      let tokens = known.get(piece);
      if (tokens === undefined) {
        tokens = this.#encodePiece(piece, behind);
        known.set(piece, tokens);
      }
      parts.push(tokens);
      length += tokens.length;
    }
    parts.push(frame.after);
    const all = new Uint32Array(length);
    let at = 0;
    for (const tokens of parts) {
      all.set(tokens, at);
      at += tokens.length;
    }
    return all;
  }

  /** Pieces that each end with an added token, but for the last; each with the token that it stands behind. */
  *#cut(text: string): Generator<{ readonly piece: string; readonly behind: string }> {
    let start = 0;
    let behind = '';
    for (const { 0: token, index } of text.matchAll(this.#added as RegExp)) {
      if (!this.#boundaryTokens.has(token)) continue;
      const end = index + token.length;
      yield { piece: text.slice(start, end), behind };
      start = end;
      behind = token;
    }
    if (start < text.length) yield { piece: text.slice(start), behind };
  }

  /** Where the place matters, a piece is tokenised behind the token that it stands behind. */
  #encodePiece(piece: string, behind: string): Uint32Array {
    return this.#firstPieces === undefined || behind === ''
      ? this.#encodeWhole(piece, false)
      : this.#encodeWhole(behind + piece, false).slice(1);
  }

  /** What a post-processor puts around a text, where it does nothing else with it. */
  #frameOf(postProcessor: unknown): Frame | undefined {
    const countBefore = tokensBefore(postProcessor);
    if (countBefore === undefined) return undefined;
    const around = this.#encodeWhole('', true);
    return { before: around.slice(0, countBefore), after: around.slice(countBefore) };
  }

  #encodeWhole(text: string, addSpecialTokens: boolean): Uint32Array {
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: addSpecialTokens });
    const tokens = new Uint32Array(ids.length);
    for (let i = 0; i < ids.length; i += 1) {
      const id: unknown = ids[i];
      if (typeof id !== 'number') throw new Error('a part of the text is not in the vocabulary');
      if (id === this.#unsureId) throw new InexactError('a character that is not in the vocabulary');
      tokens[i] = id;
    }
    return tokens;
  }
}

/** The added tokens that are looked for in the text as it came. */
function unnormalisedOf(
  tokenizer: Readonly<Record<string, unknown>>,
  added: readonly Readonly<Record<string, unknown>>[],
): readonly AddedToken[] {
  const hasNormaliser = tokenizer['normalizer'] !== null && tokenizer['normalizer'] !== undefined;
  return added
    .filter((token) => !(hasNormaliser && (token['normalized'] ?? token['special'] !== true) === true))
    .map((token) => ({ content: String(token['content']), rstrip: token['rstrip'] === true }))
    .filter(({ content }) => content !== '');
}

/** A `Unigram` with `byte_fallback` takes bytes for what it does not know, which the library does not. */
function unsureIdOf(model: unknown): unknown {
  const isUnsure = isJsonObject(model) && model['type'] === 'Unigram' && model['byte_fallback'] === true;
  return isUnsure ? model['unk_id'] : undefined;
}

/** A `Metaspace` may put a blank before the first piece of a text alone. */
function dependsOnPlace(preTokenizer: unknown): boolean {
  if (!isJsonObject(preTokenizer)) return false;
  if (preTokenizer['type'] === 'Metaspace') return preTokenizer['prepend_scheme'] === 'first';
  const inner = preTokenizer['pretokenizers'];
  return Array.isArray(inner) && inner.some(dependsOnPlace);
}

/** How many tokens a post-processor puts before a text; undefined where it may do something else. */
function tokensBefore(postProcessor: unknown): number | undefined {
  if (postProcessor === null || postProcessor === undefined) return 0;
  if (!isJsonObject(postProcessor)) return undefined;
  const { type, single, processors } = postProcessor;
  // It changes the offsets of tokens alone.
  if (type === 'ByteLevel') return 0;
  if (type === 'Sequence' && Array.isArray(processors)) {
    const others = processors.filter((one) => !(isJsonObject(one) && one['type'] === 'ByteLevel'));
    return others.length > 1 ? undefined : tokensBefore(others[0]);
  }
  if (type !== 'TemplateProcessing' || !Array.isArray(single)) return undefined;
  const isText = (item: unknown): boolean => isJsonObject(item) && 'Sequence' in item;
  return single.filter(isText).length === 1 ? single.findIndex(isText) : undefined;
}

function memoryOf(maxSize: number): LRUCache<string, Uint32Array> {
  return new LRUCache({
    maxSize,
    sizeCalculation: (tokens, text) => tokens.byteLength + 2 * text.length + ENTRY_BYTES,
  });
}

function anyOf(words: readonly string[]): RegExp {
  const escaped = [...words]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(escaped.join('|'), 'g');
}
