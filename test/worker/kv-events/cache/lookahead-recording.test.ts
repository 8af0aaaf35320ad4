import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PromptHashes } from '../../../../src/fleet/indexer/prompt-hashes.js';
import { ChangeReader, makeCache, unpack } from '../support/engine-payloads.js';

/** What vLLM 0.33 with an EAGLE draft published and counted; see the README beside it. */
interface Recording {
  readonly batches: readonly { readonly payload: string }[];
  readonly requests: readonly {
    readonly name: string;
    /** Ranges of token ids, the second number left out. */
    readonly tokens: readonly (readonly [number, number])[];
    /** How many batches were published before it. */
    readonly batches: number;
    readonly cached_tokens: number;
  }[];
}

const WIDTH = 32;
const URL_OF = new URL('../../../fixtures/kv-events-lookahead/vllm-0.33.0.json', import.meta.url);
const { batches, requests } = JSON.parse(readFileSync(URL_OF, 'utf8')) as Recording;

describe('requests to a vLLM whose hashes cover the token behind a block', () => {
  it('find in its cache what its KV events say', () => {
    const { cache } = makeCache();
    const reader = new ChangeReader();
    const hashes = new PromptHashes();
    let applied = 0;
    const predicted = requests.map(({ name, tokens: ranges, batches: before }) => {
      for (; applied < before; applied += 1)
        reader.apply(cache.apply(Buffer.from(batches[applied]?.payload ?? '', 'hex')).changes);
      const tokens = ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at));
      const asked = hashes.hash(
        { tokens, loraName: '', cacheSalt: '' },
        { tokensPerBlock: WIDTH, hashUnit: 'bigram' },
      );
      const held = new Set(reader.held());
      const blocks = unpack(asked.sequenceHashes);
      const missing = blocks.findIndex((hash) => !held.has(`device ${WIDTH} ${hash}`));
      return [name, (missing === -1 ? blocks.length : missing) * WIDTH];
    });
    expect(predicted).toEqual(requests.map(({ name, cached_tokens: cached }) => [name, cached]));
    expect(requests.some(({ cached_tokens: cached }) => cached > 0)).toBe(true);
  });
});
