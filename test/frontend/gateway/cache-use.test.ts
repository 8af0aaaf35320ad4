import { describe, expect, it } from 'vitest';
import { cacheUseOf } from '../../../src/frontend/gateway/cache-use.js';

describe('what an engine does with its prefix cache', () => {
  it.each<readonly [string, Record<string, unknown>, string]>([
    ['a plain completion', { prompt: 'x', logprobs: 3 }, 'plain'],
    ['a plain chat', { messages: [], logprobs: true, top_logprobs: 2, n: 1, echo: false }, 'plain'],
    ['prompt_logprobs', { prompt_logprobs: 1 }, 'unread'],
    ['prompt_logprobs of 0, which is not none', { prompt_logprobs: 0 }, 'unread'],
    ['prompt_logprobs left out as null', { prompt_logprobs: null }, 'plain'],
    ['log probabilities of single tokens of the prompt', { prompt_logprob_token_ids: [1] }, 'unread'],
    ['echo with logprobs', { echo: true, logprobs: 0 }, 'unread'],
    ['echo alone', { echo: true }, 'plain'],
    ['echo of a chat with top_logprobs', { echo: true, top_logprobs: 1 }, 'unread'],
    ['several answers', { n: 2 }, 'several'],
    ['the best of several', { best_of: 4, n: 1 }, 'several'],
    ['a beam search', { use_beam_search: true }, 'several'],
    ['prompt_logprobs of several answers', { n: 2, prompt_logprobs: 1 }, 'unread'],
    ['nonsense', { n: 'many', echo: 'yes', logprobs: {} }, 'plain'],
  ])('is known for %s', (_, body, expected) => {
    expect(cacheUseOf(body)).toBe(expected);
  });
});
