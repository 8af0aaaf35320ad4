import type { HashUnitName } from '../../src/core/blocks/block-hasher.js';
import type { Matches } from '../../src/core/blocks/prefix-index.js';
import type { Tier } from '../../src/core/blocks/tier.js';
import type { CacheView } from '../../src/core/contract/wire/cache-view.js';
import type { AskedIndex, AskedPrompt, RemovalListener } from '../../src/fleet/indexer/index/asked-index.js';
import { FleetIndex } from '../../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../../src/fleet/indexer/index/index-tally.js';
import type { RankHolding, RankMatch } from '../../src/fleet/indexer/index/rank-match.js';

/** An index that a test fills, without workers that report what they hold. */
export class FilledIndex implements AskedIndex {
  readonly epoch = 1;
  readonly hashUnit: HashUnitName = 'token';
  readonly tokensPerBlock: number;
  readonly otherWidths: readonly number[] = [];
  readonly #index: FleetIndex;
  readonly #sequences = new Map<string, number>();

  constructor(tokensPerBlock: number) {
    this.tokensPerBlock = tokensPerBlock;
    this.#index = new FleetIndex(
      { tokensPerBlock },
      {
        tally: new IndexTally(),
        onOtherWidth: () => undefined,
        onRefused: () => undefined,
        onSweepDue: () => undefined,
      },
    );
  }

  /** A rank holds these blocks too, packed little-endian u64. */
  hold(target: string, rank: number, tier: Tier, sequenceHashes: Uint8Array): void {
    const { tokensPerBlock } = this;
    if (!this.#sequences.has(target)) {
      const ranks = [{ rank, picture: 'exact', reason: '', blockCount: 0 }] as const;
      const stream = { instanceId: 'i', streamId: 's', resumed: false, reason: '', ranks };
      this.#index.apply(target, { type: 'start', ...stream });
      this.#index.apply(target, { type: 'snapshot_end', sequence: 0 });
    }
    const sequence = (this.#sequences.get(target) ?? 0) + 1;
    this.#sequences.set(target, sequence);
    const changes = [{ type: 'stored', tier, tokensPerBlock, sequenceHashes }] as const;
    const problem = this.#index.apply(target, { type: 'changes', sequence, rank, changes });
    if (problem !== undefined) throw new Error(problem);
  }

  /** A rank's device has these blocks no longer. */
  evict(target: string, rank: number, sequenceHashes: Uint8Array): void {
    const sequence = (this.#sequences.get(target) ?? 0) + 1;
    this.#sequences.set(target, sequence);
    const changes = [{ type: 'removed', tier: 'device', sequenceHashes }] as const;
    const problem = this.#index.apply(target, { type: 'changes', sequence, rank, changes });
    if (problem !== undefined) throw new Error(problem);
  }

  watchRemovals(listener: RemovalListener | undefined): void {
    this.#index.watchRemovals(listener);
  }

  /** Drops all that a worker holds, and gives its room to others. */
  forget(target: string): void {
    this.#sequences.delete(target);
    this.#index.forget(target);
    while (this.#index.sweep());
  }

  find(prompt: AskedPrompt): readonly RankMatch[] {
    return this.#index.find(prompt);
  }

  match(prompt: AskedPrompt, deepest: Tier): Matches | undefined {
    return this.#index.match(prompt, deepest);
  }

  get holdersVersion(): number {
    return this.#index.holdersVersion;
  }

  cacheViewOfRank(target: string, rank: number): CacheView {
    return this.#index.cacheViewOfRank(target, rank);
  }

  holdings(): readonly RankHolding[] {
    return this.#index.holdings();
  }

  scan(
    tier: Tier,
    cursor: number,
    max: number,
    visit: (low: number, high: number, holders: readonly number[]) => void,
  ): number | undefined {
    return this.#index.scan(tier, cursor, max, visit);
  }

  record(): boolean {
    return false;
  }
}
