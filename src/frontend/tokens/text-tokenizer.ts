import { Tokenizer } from '@huggingface/tokenizers';
import { LRUCache } from 'lru-cache';
import { InexactError } from './jinja/errors.js';
import { isRecord } from './read-prompt.js';

/** What a remembered piece costs beside its text and its tokens. */
const ENTRY_BYTES = 128;

/**
 * Characters that JavaScript and Hugging Face's library split or normalise
 * differently: blanks of one of them alone, and those whose kind or normal form
 * came with a Unicode (12.1 to 17) that the tables of one of them lack.
 */
const UNSURE_CHARACTERS =
  /[\u0085\ufeff\u32ff\ua7f1-\ua7f4\uab69\u{10780}-\u{107ba}\u{11380}-\u{113ff}\u{11de0}-\u{11de9}\u{16100}-\u{1613f}\u{16d40}-\u{16d7f}\u{16ff4}-\u{16ff6}\u{1ccd6}-\u{1ccf9}\u{1e030}-\u{1e06d}\u{1f16c}\u{1fbf0}-\u{1fbf9}]/u;

/** A token that is found in a text before anything else is done with it. */
interface AddedToken {
  readonly content: string;
  /** Whether it takes the blanks behind it with it. */
  readonly rstrip: boolean;
}

/**
 * A tokenizer of Hugging Face's format. A text falls apart at its added tokens
 * before it is normalised or split, and what stands between two of them gives
 * the same tokens wherever it stands. So the pieces of a conversation that were
 * tokenised once are remembered, and only what is new is tokenised.
 */
export class TextTokenizer {
  readonly #tokenizer: Tokenizer;
  /** Finds every added token, the longest first; undefined when pieces cannot be distinguished. */
  readonly #added: RegExp | undefined;
  /** Those behind which a text may be cut. */
  readonly #boundaryTokens: ReadonlySet<string>;
  readonly #pieces: LRUCache<string, Uint32Array> | undefined;
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
    if (!isRecord(tokenizer)) throw new Error('it is no JSON object');
    const added = Array.isArray(tokenizer['added_tokens']) ? tokenizer['added_tokens'].filter(isRecord) : [];
    const single = added.find((token) => token['single_word'] === true);
    if (single !== undefined)
      throw new Error(`its added token "${single['content']}" is a single_word, which is not supported`);
    this.#tokenizer = new Tokenizer({ ...tokenizer, added_tokens: added }, isRecord(config) ? config : {});
    this.#unsureId = unsureIdOf(tokenizer['model']);
    const unnormalised = dependsOnPlace(tokenizer['pre_tokenizer']) ? [] : unnormalisedOf(tokenizer, added);
    this.#boundaryTokens = new Set(
      unnormalised.filter(({ rstrip }) => !rstrip).map(({ content }) => content),
    );
    if (this.#boundaryTokens.size === 0 || options.maxRememberedBytes === 0) return;
    this.#added = anyOf(unnormalised.map(({ content }) => content));
    this.#pieces = new LRUCache({
      maxSize: options.maxRememberedBytes,
      sizeCalculation: (tokens, text) => tokens.byteLength + 2 * text.length + ENTRY_BYTES,
    });
  }

  /** The tokens of a text, with those that the tokenizer puts around it or without. Throws when it has none for a part. */
  encode(text: string, addSpecialTokens: boolean): Uint32Array {
    if (UNSURE_CHARACTERS.test(text))
      throw new InexactError('a character that is not split alike everywhere');
    return addSpecialTokens || this.#pieces === undefined
      ? this.#encodeWhole(text, addSpecialTokens)
      : this.#encodePieces(text, this.#pieces);
  }

  #encodePieces(text: string, pieces: LRUCache<string, Uint32Array>): Uint32Array {
    const parts: Uint32Array[] = [];
    let length = 0;
    for (const piece of this.#cut(text)) {
      let tokens = pieces.get(piece);
      if (tokens === undefined) {
        tokens = this.#encodeWhole(piece, false);
        pieces.set(piece, tokens);
      }
      parts.push(tokens);
      length += tokens.length;
    }
    const all = new Uint32Array(length);
    let at = 0;
    for (const tokens of parts) {
      all.set(tokens, at);
      at += tokens.length;
    }
    return all;
  }

  /** Pieces that each end with an added token, but for the last. */
  *#cut(text: string): Generator<string> {
    let start = 0;
    for (const { 0: token, index } of text.matchAll(this.#added as RegExp)) {
      if (!this.#boundaryTokens.has(token)) continue;
      const end = index + token.length;
      yield text.slice(start, end);
      start = end;
    }
    if (start < text.length) yield text.slice(start);
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
  const isUnsure = isRecord(model) && model['type'] === 'Unigram' && model['byte_fallback'] === true;
  return isUnsure ? model['unk_id'] : undefined;
}

/** A `Metaspace` may put a blank before the first piece of a text alone. */
function dependsOnPlace(preTokenizer: unknown): boolean {
  if (!isRecord(preTokenizer)) return false;
  if (preTokenizer['type'] === 'Metaspace') return preTokenizer['prepend_scheme'] === 'first';
  const inner = preTokenizer['pretokenizers'];
  return Array.isArray(inner) && inner.some(dependsOnPlace);
}

function anyOf(words: readonly string[]): RegExp {
  const escaped = [...words]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(escaped.join('|'), 'g');
}
