import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTokenAnswer } from '../../../../src/engines/descriptor/token-answer.js';
import { readFeatures } from '../../../../src/engines/vllm/render-features.js';
import { PromptHashes } from '../../../../src/fleet/indexer/prompt-hashes.js';
import { ChangeReader, makeCache, unpack } from '../support/engine-payloads.js';

/** What a real vLLM rendered, reported and published; see the README beside it. */
interface Recording {
  readonly batches: readonly { readonly sequence: number; readonly payload: string }[];
  readonly requests: readonly {
    readonly name: string;
    readonly prompt_tokens: number;
    readonly cached_tokens: number;
    readonly answer: unknown;
  }[];
}

const WIDTH = 32;
const URL_OF = new URL('../../../fixtures/kv-events-media/vllm-0.32.0.json', import.meta.url);
const { batches, requests } = JSON.parse(readFileSync(URL_OF, 'utf8')) as Recording;

describe('requests with images to a real vLLM', () => {
  it('find in its cache what its KV events and what it rendered say', () => {
    const { cache, counted } = makeCache();
    const reader = new ChangeReader();
    const hashes = new PromptHashes();
    const left = [...batches];
    const results = requests.map(
      ({ name, prompt_tokens: promptTokens, cached_tokens: cachedTokens, answer }) => {
        const tokens = readTokenAnswer(answer, 'token_ids') ?? expect.unreachable();
        const media = readFeatures(answer);
        expect(tokens).toHaveLength(promptTokens);
        const asked = hashes.hash(
          { tokens, loraName: '', cacheSalt: '', media },
          { tokensPerBlock: WIDTH, hashUnit: 'token' },
        );
        const blocks = unpack(asked.sequenceHashes);
        const held = new Set(reader.held());
        const missing = blocks.findIndex((hash) => !held.has(`device ${WIDTH} ${hash}`));
        const predicted = (missing === -1 ? blocks.length : missing) * WIDTH;
        // What was not held yet is published next.
        if (missing !== -1)
          reader.apply(cache.apply(Buffer.from(left.shift()?.payload ?? '', 'hex')).changes);
        return { name, predicted, cachedTokens };
      },
    );
    expect(results).toEqual([
      { name: 'two pictures', predicted: 0, cachedTokens: 0 },
      { name: 'the same again', predicted: 192, cachedTokens: 192 },
      { name: 'a follow-up with the same pictures', predicted: 192, cachedTokens: 192 },
      { name: 'another second picture of the same size', predicted: 128, cachedTokens: 128 },
      { name: 'the pictures in the other order', predicted: 32, cachedTokens: 32 },
      { name: 'two pictures without a word between them', predicted: 96, cachedTokens: 96 },
      { name: 'the same in the other order', predicted: 96, cachedTokens: 96 },
      { name: 'text alone', predicted: 32, cachedTokens: 32 },
    ]);
    expect(left).toEqual([]);
    expect(counted()).toEqual(['stored applied 7']);
  });
});
