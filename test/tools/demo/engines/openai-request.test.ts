import { describe, expect, it } from 'vitest';
import { modelOf, readEngineRequest } from '../../../../src/tools/demo/engines/openai-request.js';
import { tokensOfChat, tokensOfText } from '../../../../src/tools/demo/engines/word-tokens.js';

const messages = [{ role: 'user', content: 'Hello there' }];

describe('what a simulated engine is asked', () => {
  it('is a chat or a text, or tokens as they are', () => {
    expect(readEngineRequest({ messages })).toEqual({
      kind: 'chat',
      tokenIds: tokensOfChat(messages),
      maxTokens: 16,
      isStream: false,
      includesUsage: false,
    });
    const completion = { kind: 'completion', maxTokens: 2, isStream: true, includesUsage: true };
    const rest = { max_tokens: 2, stream: true, stream_options: { include_usage: true } };
    expect(readEngineRequest({ prompt: 'Hello there', ...rest })).toEqual({
      ...completion,
      tokenIds: tokensOfText('Hello there'),
    });
    expect(readEngineRequest({ prompt: [1, 2, 3], ...rest })).toEqual({ ...completion, tokenIds: [1, 2, 3] });
  });

  it('has an answer of bounded length', () => {
    expect(readEngineRequest({ messages, max_tokens: 1e9 })?.maxTokens).toBe(256);
    expect(readEngineRequest({ messages, max_tokens: 9, max_completion_tokens: 3 })?.maxTokens).toBe(3);
  });

  it.each([
    ['no object', 'text'],
    ['nothing', undefined],
    ['a list', [messages]],
    ['neither', { model: 'm' }],
    ['no messages', { messages: [] }],
    ['messages of parts', { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }],
    ['messages that are none', { messages: [null] }],
    ['several prompts', { prompt: ['a', 'b'] }],
    ['negative tokens', { prompt: [-1] }],
    ['no number of tokens', { messages, max_tokens: 'many' }],
    ['an answer of nothing', { messages, max_tokens: 0 }],
    ['an answer of no number', { messages, max_tokens: Number.NaN }],
  ])('is not %s', (_name, body) => {
    expect(readEngineRequest(body)).toBeUndefined();
  });

  it('names a model, or does not', () => {
    expect(modelOf({ model: 'm' })).toBe('m');
    expect(modelOf(null)).toBeUndefined();
  });
});
