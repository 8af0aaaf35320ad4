import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ChainBlocks } from './support/kv-chain-blocks.js';
import { chainStory, live } from './support/kv-chain-steps.js';

/** `KV_ACCORD_CHAIN_RUNS=10000 KV_ACCORD_CHAIN_SEED=1` for a longer search. */
const RUNS = Number(process.env['KV_ACCORD_CHAIN_RUNS'] ?? 150);
const SEED = process.env['KV_ACCORD_CHAIN_SEED'];

describe('from the caches of random engines to the index, whatever happens between', () => {
  it('credits nobody with what it never held, equals the truth wherever it says so, and comes to it where it can', {
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
