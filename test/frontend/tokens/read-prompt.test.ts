import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from '../../../src/frontend/tokens/read-prompt.js';

type Body = Readonly<Record<string, unknown>>;

const LIMITS = { maxChars: 100, maxTokens: 10 };

function read(body: Body): unknown {
  const made = readPrompt({ kind: 'messages' in body ? 'chat' : 'completion', body }, LIMITS);
  if (made.kind === 'none') return made.reason;
  if (made.kind === 'tokens') return [...made.tokens];
  return made.media === undefined ? made.kind : `${made.kind} with ${made.media} media`;
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
      'chat with linked media',
      said([
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'x' } },
      ]),
    ],
    ['chat with inline media', said([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }])],
    ['chat with inline media', said([{ type: 'image_url', image_url: null, uuid: 'own' }])],
    ['chat with inline media', said([{ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }])],
    ['chat with inline media', said([{ type: 'of tomorrow' }])],
    ['chat with linked media', said([{ image_url: 'x' }])],
    ['too_long', said('x'.repeat(101))],
    ['too_long', { ...said('hello'), tools: [{ description: 'x'.repeat(101) }] }],
  ])('is %j: %j', (expected, body) => {
    expect(read(body)).toEqual(expected);
  });

  it.each([
    ['inline', 256],
    ['linked', 257],
  ])('has media that count as %s, of %i of them', (media, count) => {
    const body = said(Array(count).fill({ type: 'input_audio', input_audio: {} }));
    expect(readPrompt({ kind: 'chat', body }, DEFAULT_PROMPT_LIMITS)).toMatchObject({ media });
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
