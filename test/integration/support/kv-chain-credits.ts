import { TIERS } from '../../../src/core/blocks/tier.js';
import type { EpochIndex } from '../../../src/fleet/indexer/groups/epoch-index.js';

/** What an index credits: by `target/rank`, `tier hash`. */
export type Credits = ReadonlyMap<string, ReadonlySet<string>>;

/** What the index credits each rank of each worker with, block by block. */
export function creditsOf(index: EpochIndex): Credits {
  const credits = new Map<string, Set<string>>();
  const names = new Map<number, string>();
  for (const { holder, target, rank } of index.holdings()) {
    names.set(holder, `${target}/${rank}`);
    credits.set(`${target}/${rank}`, new Set());
  }
  for (const tier of TIERS) {
    let cursor: number | undefined = 0;
    while (cursor !== undefined) {
      cursor = index.scan(tier, cursor, 4_096, (low, high, holders) => {
        const hash = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
        for (const holder of holders) credits.get(names.get(holder) ?? '')?.add(`${tier} ${hash}`);
      });
    }
  }
  return credits;
}

/** Leading blocks of a prompt by tier, each with those above it; `prompt` has the sequence hashes. */
export function leadingBlocks(held: ReadonlySet<string>, prompt: readonly bigint[]): number[] {
  return TIERS.map((_, deepest) => {
    const miss = prompt.findIndex(
      (hash) => !TIERS.slice(0, deepest + 1).some((tier) => held.has(`${tier} ${hash}`)),
    );
    return miss === -1 ? prompt.length : miss;
  });
}
