import { readFileSync } from 'node:fs';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { InexactError } from '../../../src/frontend/tokens/jinja/errors.js';
import { TextTokenizer } from '../../../src/frontend/tokens/text-tokenizer.js';
import { propertyRuns } from '../../support/property-runs.js';
import { readFixture, TOKENIZERS, type TokenizerName } from './support/tokenizers.js';

/** What a test changes of `tokenizer.json`. */
interface TokenizerFile {
  added_tokens: Record<string, unknown>[];
  model: unknown;
  normalizer?: unknown;
  post_processor?: unknown;
  pre_tokenizer: unknown;
}

/** What SentencePiece's tokenizers do first. */
const SPACES = {
  type: 'Sequence',
  normalizers: [
    { type: 'Prepend', prepend: '▁' },
    { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  ],
};

const NORMALISED = [
  { id: 603, content: '<|im_end|>', special: false, normalized: true },
  { id: 602, content: '<|im_start|>', special: true, normalized: false },
];

const MIB = 1024 * 1024;

function load(
  name: TokenizerName,
  maxRememberedBytes: number,
  change?: (tokenizer: TokenizerFile) => void,
): TextTokenizer {
  const tokenizer = JSON.parse(readFixture(name, 'tokenizer.json')) as TokenizerFile;
  change?.(tokenizer);
  const config = JSON.parse(readFixture(name, 'tokenizer_config.json'));
  return new TextTokenizer({ tokenizer, config }, { maxRememberedBytes });
}

function addedTokens(name: TokenizerName): string[] {
  const { added_tokens: added } = JSON.parse(readFixture(name, 'tokenizer.json'));
  return added.map(({ content }: { content: string }) => content);
}

/** Texts between added tokens, or with what looks like one. */
function texts(name: TokenizerName): fc.Arbitrary<string> {
  const added = addedTokens(name);
  const piece = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...added) },
    { weight: 1, arbitrary: fc.constantFrom(...added.map((token) => token.slice(0, -1)), '<|', '<', '|>') },
    {
      weight: 2,
      arbitrary: fc.constantFrom(' ', '\n', '\n\n', '  ', 'hello', " don't", '12345', 'é', 'e\u0301', '你好'),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 12, unit: 'binary' }) },
  );
  return fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''));
}

/** The tokens, or that there are none because an engine may make others. */
function outcome(tokenizer: TextTokenizer, text: string, special = false): number[] | 'declined' {
  try {
    return [...tokenizer.encode(text, special)];
  } catch (error) {
    if (error instanceof InexactError) return 'declined';
    throw error;
  }
}

describe('a tokenizer that remembers pieces', () => {
  for (const name of TOKENIZERS) {
    it(`makes the same tokens as one that does not, with ${name}`, () => {
      const remembering = load(name, MIB);
      const forgetting = load(name, 0);
      fc.assert(
        fc.property(fc.array(texts(name), { minLength: 1, maxLength: 6 }), (turns) => {
          // A conversation: every turn adds to what was there.
          let text = '';
          for (const turn of turns) {
            text += turn;
            expect(outcome(remembering, text)).toEqual(outcome(forgetting, text));
            expect(outcome(remembering, text, true)).toEqual(outcome(forgetting, text, true));
          }
        }),
        { numRuns: propertyRuns(60) },
      );
    });
  }

  const prependedFirst = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true };
  const framed = {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '<|im_start|>', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '<|im_end|>', type_id: 0 } },
    ],
    pair: [],
    special_tokens: {},
  };
  it.each<[string, Partial<TokenizerFile>]>([
    ['a blank before the first word alone', { pre_tokenizer: prependedFirst }],
    ['tokens before and behind every text', { post_processor: framed }],
    [
      'tokens around every text after other steps',
      { post_processor: { type: 'Sequence', processors: [{ type: 'ByteLevel' }, framed] } },
    ],
    ['texts that are prepended and replaced first', { normalizer: SPACES }],
    ['texts that are put into lower case first', { normalizer: { type: 'Lowercase' } }],
    ['tokens that are found in normalised texts alone', { added_tokens: NORMALISED, normalizer: SPACES }],
  ])('makes the same with %s', (_, fields) => {
    const change = (tokenizer: TokenizerFile): void => void Object.assign(tokenizer, fields);
    const remembering = load('chatml', MIB, change);
    const forgetting = load('chatml', 0, change);
    fc.assert(
      fc.property(fc.array(texts('chatml'), { minLength: 1, maxLength: 4 }), (turns) => {
        let text = '';
        for (const turn of turns) {
          text += turn;
          for (const special of [false, true])
            expect(outcome(remembering, text, special)).toEqual(outcome(forgetting, text, special));
        }
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  it.each(TOKENIZERS)('tokenises of a longer conversation what is new in it, with %s', (name) => {
    const tokenizer = load(name, MIB);
    const [boundary = ''] = addedTokens(name).filter((token) => token.startsWith('<|') || token === '</s>');
    const first = `hello${boundary}`;
    for (const special of [false, true]) tokenizer.encode(first, special);
    const encode = vi.spyOn(Tokenizer.prototype, 'encode');
    onTestFinished(() => encode.mockRestore());
    for (const special of [false, true]) tokenizer.encode(`${first}what is new`, special);
    expect(
      encode.mock.calls.map((call: readonly unknown[]) => String(call[0]).replace(boundary, '')),
    ).toEqual(['what is new']);
  });

  it('makes the same where tokens take blanks with them, or overlap', () => {
    const change = (tokenizer: TokenizerFile): void => {
      Object.assign(tokenizer.added_tokens[1] ?? {}, { rstrip: true });
      Object.assign(tokenizer.added_tokens[2] ?? {}, { lstrip: true });
      tokenizer.added_tokens.push({
        id: 900,
        content: '<|im_end|><|im_start|>',
        special: true,
        normalized: false,
      });
      tokenizer.added_tokens.push({ id: 901, content: 'hello', special: false, normalized: true });
    };
    const remembering = load('chatml', MIB, change);
    const forgetting = load('chatml', 0, change);
    fc.assert(
      fc.property(texts('chatml'), (text) => {
        expect(outcome(remembering, text)).toEqual(outcome(forgetting, text));
      }),
      { numRuns: propertyRuns(80) },
    );
  });

  it('refuses a text of which a part is not in the vocabulary, rather than make tokens up', () => {
    const tokenizer = load('chatml', 0, (file) => {
      file.model = { type: 'WordLevel', vocab: { hello: 0 }, unk_token: '<missing>' };
      file.pre_tokenizer = { type: 'WhitespaceSplit' };
      file.added_tokens = [];
    });
    expect([...tokenizer.encode('hello', false)]).toEqual([0]);
    expect(() => tokenizer.encode('hello world', false)).toThrow('not in the vocabulary');
  });
});

describe('a tokenizer that is not sure', () => {
  it('gives the tokens of a Unigram vocabulary that falls back to bytes, or none', () => {
    const read = (file: string): unknown =>
      JSON.parse(readFileSync(new URL(`../../fixtures/unigram/${file}`, import.meta.url), 'utf8'));
    const files = { tokenizer: read('tokenizer.json'), config: { unk_token: '<unk>' } };
    const tokenizer = new TextTokenizer(files, { maxRememberedBytes: MIB });
    let exact = 0;
    for (const [text, tokens] of read('golden.json') as [string, number[]][]) {
      const made = outcome(tokenizer, text);
      if (made === 'declined') continue;
      expect([text, made]).toEqual([text, tokens]);
      exact += 1;
    }
    expect(exact).toBeGreaterThanOrEqual(6);
    expect(() => tokenizer.encode('Zürich 你好', false)).toThrow(InexactError);
  });

  it.each(['\u0085', '\ufeff', '\u32ff', '\ua7f2', '\u{10785}', '\u{1ccd6}', '\u{1fbf1}', '\u{11de3}'])(
    'declines a character that other libraries split otherwise: %j',
    (character) => {
      for (const name of TOKENIZERS)
        expect(() => load(name, MIB).encode(`x${character} y`, false)).toThrow(InexactError);
    },
  );
});
