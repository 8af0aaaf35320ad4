import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChainBlocks } from './support/kv-chain-blocks.js';
import { chainStory, live } from './support/kv-chain-steps.js';

/** `KV_ACCORD_CHAIN_RUNS=10000` for a longer search, each time another one unless `KV_ACCORD_CHAIN_SEED` is set. */
const MORE_RUNS = process.env['KV_ACCORD_CHAIN_RUNS'];
const RUNS = Number(MORE_RUNS ?? 100);
const SEED = process.env['KV_ACCORD_CHAIN_SEED'] ?? (MORE_RUNS === undefined ? '20261121' : undefined);

describe('from the caches of random engines to the index, whatever happens between', () => {
  it('credits nobody with what it never held, equals the truth wherever it says so, and reaches it where it can', {
    timeout: 20_000 + 200 * RUNS,
  }, async () => {
    const blocks = await ChainBlocks.create();
    await fc.assert(
      fc.asyncProperty(chainStory, async (story) => {
        expect(await live(story, blocks)).toEqual([]);
      }),
      { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
    );
  });
});
