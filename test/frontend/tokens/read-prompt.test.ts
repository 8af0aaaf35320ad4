import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from '../../../src/frontend/tokens/read-prompt.js';

type Body = Readonly<Record<string, unknown>>;

const LIMITS = { maxChars: 100, maxTokens: 10 };

function read(body: Body): unknown {
  const made = readPrompt({ kind: 'messages' in body ? 'chat' : 'completion', body }, LIMITS);
  if (made.kind === 'none') return made.reason;
  return made.kind === 'tokens' ? [...made.tokens] : made.kind;
}

const said = (content: unknown): Body => ({ messages: [{ role: 'user', content }] });

describe('a prompt', () => {
  it.each<[unknown, Body]>([
    ['completion', { prompt: 'hello' }],
    ['completion', { prompt: ['hello'] }],
    [[1, 2, 0, 2 ** 32 - 1], { prompt: [1, 2, 0, 2 ** 32 - 1] }],
    [[7], { prompt: [[7]] }],
    ['several_prompts', { prompt: ['a', 'b'] }],
    ['several_prompts', { prompt: [[1], [2]] }],
    ['bad_prompt', {}],
    ['bad_prompt', { prompt: '' }],
    ['bad_prompt', { prompt: [] }],
    ['bad_prompt', { prompt: [[]] }],
    ['bad_prompt', { prompt: 7 }],
    ['bad_prompt', { prompt: [null] }],
    ['bad_prompt', { prompt: [1, 'a'] }],
    ['bad_prompt', { prompt: [1.5] }],
    ['bad_prompt', { prompt: [-1] }],
    ['bad_prompt', { prompt: [2 ** 32] }],
    ['too_long', { prompt: 'x'.repeat(101) }],
    ['too_long', { prompt: Array.from({ length: 11 }, () => 1) }],
    ['media', { prompt: 'a', prompt_embeds: 'AAAA' }],
    ['no_tokenizer', { prompt: [1, 2], truncate_prompt_tokens: 1 }],
    ['chat', said('hello')],
    ['chat', said(null)],
    ['chat', said([{ type: 'text', text: 'a' }, 'b'])],
    ['bad_prompt', { messages: [] }],
    ['bad_prompt', { messages: 'hello' }],
    ['bad_prompt', { messages: [null] }],
    ['bad_prompt', { messages: [{ content: 'no role' }] }],
    ['bad_prompt', said(7)],
    ['bad_prompt', said([7])],
    [
      'media',
      said([
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'x' } },
      ]),
    ],
    ['media', said([{ type: 'input_audio', input_audio: {} }])],
    ['media', said([{ type: 'of tomorrow' }])],
    ['media', said([{ image_url: 'x' }])],
    ['too_long', said('x'.repeat(101))],
    ['too_long', { ...said('hello'), tools: [{ description: 'x'.repeat(101) }] }],
  ])('is %j: %j', (expected, body) => {
    expect(read(body)).toEqual(expected);
  });

  it('that is nested beyond all measure is too long', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 10_000; i += 1) deep = [deep];
    expect(read({ ...said('hello'), tools: deep })).toBe('too_long');
  });

  it('of any JSON is read without an error', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('chat' as const, 'completion' as const),
        fc.dictionary(
          fc.constantFrom('prompt', 'messages', 'tools', 'kv_transfer_params', 'suffix'),
          fc.jsonValue(),
        ),
        (kind, body) => {
          readPrompt({ kind, body }, DEFAULT_PROMPT_LIMITS);
        },
      ),
    );
  });
});

it('gives no tokens for a conversation with a number that was not kept', () => {
  const body = { messages: [{ role: 'user', content: 'hi' }] };
  expect(readPrompt({ kind: 'chat', body, losesNumbers: true }, LIMITS)).toEqual({
    kind: 'none',
    reason: 'no_tokenizer',
  });
});
