import { type Matches, PrefixIndex, type VisitBlock } from '../../../core/blocks/prefix-index.js';
import { TIERS, type Tier } from '../../../core/blocks/tier.js';
import type { BlockChange } from '../../../core/relay/relay.js';
import type { AskedPrompt } from './asked-index.js';
import { HybridRanks } from './hybrid-ranks.js';
import { holdersOf, type Rank } from './known-rank.js';
import type { KnownWorker } from './known-worker.js';
import { byLength, type Churn, type RankHolding, type RankMatch } from './rank-match.js';

/** Pieces of the index's table that one slice of a sweep looks at, of up to 1,280 entries each. */
const SWEEP_SEGMENTS = 8;

export interface RankHoldersOptions {
  readonly tokensPerBlock: number;
  /** Bound of the whole index in memory; default that of `PrefixIndex`. */
  readonly maxBytes?: number;
}

type StoredBlocks = Omit<BlockChange & { type: 'stored' }, 'type'>;
type RemovedBlocks = BlockChange & { type: 'removed' };

/** The prefix index of one group: under which number each rank holds its blocks, and who holds a prompt's. */
export class RankHolders {
  readonly #index: PrefixIndex;
  readonly #hybrids: HybridRanks;
  /** By holder. */
  readonly #names = new Map<number, { readonly target: string; readonly rank: number }>();
  #version = 0;
  /** (block, holder) pairs by tier, in the order of `TIERS`. */
  readonly #pairs: number[] = TIERS.map(() => 0);

  /** Of all workers together, since the beginning. */
  readonly #churn = { stored: 0, removed: 0 };
  readonly #workers: ReadonlyMap<string, KnownWorker>;

  constructor(
    { tokensPerBlock, maxBytes }: RankHoldersOptions,
    modules: { readonly workers: ReadonlyMap<string, KnownWorker> },
  ) {
    this.#workers = modules.workers;
    this.#index = new PrefixIndex(maxBytes === undefined ? {} : { maxBytes });
    this.#hybrids = new HybridRanks(this.#index, tokensPerBlock);
  }

  /** Different blocks that any rank holds. */
  get blocks(): number {
    return this.#index.blocks;
  }

  get memoryBytes(): number {
    return this.#index.memoryBytes;
  }

  /** See `GroupIndex`. */
  get churn(): Churn {
    return this.#churn;
  }

  /** See `AskedIndex.holdersVersion`. */
  get version(): number {
    return this.#version;
  }

  /** See `AskedIndex`. */
  get otherWidths(): readonly number[] {
    return this.#hybrids.otherWidths;
  }

  /** Takes a slice of what those left behind who have gone; true while there is more. */
  sweep(): boolean {
    return !this.#index.sweep(SWEEP_SEGMENTS);
  }

  /** See `AskedIndex`. */
  find(prompt: AskedPrompt): RankMatch[] {
    const found = new Map<number, number[]>();
    for (const [depth, tier] of TIERS.entries()) {
      const matches = this.match(prompt, tier);
      if (matches === undefined) continue;
      const { count, holders, depths } = matches;
      for (let at = 0; at < count; at += 1) {
        const holder = holders[at] ?? 0;
        let blocks = found.get(holder);
        if (blocks === undefined) {
          blocks = TIERS.map(() => 0);
          found.set(holder, blocks);
        }
        blocks.fill(depths[at] ?? 0, depth);
      }
    }
    const matches: RankMatch[] = [];
    for (const [holder, blocks] of found) {
      const name = this.#names.get(holder);
      if (name !== undefined) matches.push({ ...name, blocks });
    }
    return matches.sort(byLength);
  }

  /** See `AskedIndex`. */
  match(prompt: AskedPrompt, deepest: Tier): Matches | undefined {
    if (this.#pairs[TIERS.indexOf(deepest)] === 0) return undefined;
    const { sequenceHashes } = prompt;
    const hybrids = this.#hybrids;
    if (hybrids.isEmpty) return this.#index.find(sequenceHashes, deepest);
    if (deepest === 'device') return hybrids.inDevice(this.#index.find(sequenceHashes, deepest), prompt);
    hybrids.keepHits(this.match(prompt, 'device'));
    return hybrids.inLowerTier(this.#index.find(sequenceHashes, deepest), prompt);
  }

  /** See `AskedIndex`. */
  holdings(): RankHolding[] {
    const blocks = (holder: number): number[] => TIERS.map((tier) => this.#index.blocksOf(holder, tier));
    const holdings: RankHolding[] = [];
    for (const [holder, name] of this.#names) holdings.push({ holder, ...name, blocks: blocks(holder) });
    for (const { target, ranks } of this.#workers.values()) {
      for (const { rank, groupHolders } of ranks.values()) {
        for (const [cacheGroup, holder] of groupHolders)
          holdings.push({ holder, target, rank, cacheGroup, blocks: blocks(holder) });
      }
    }
    return holdings;
  }

  /**
   * Visits blocks of one tier from `cursor` on (0 is the beginning), about
   * `max` of them; gives the cursor for the next, undefined at the end. Blocks
   * that come and go meanwhile may be left out or visited twice.
   */
  scan(tier: Tier, cursor: number, max: number, visit: VisitBlock): number | undefined {
    return this.#index.scan(tier, cursor, max, visit);
  }

  /** A rank stores blocks. Throws a `PrefixIndexError` when there is no room for all; then `recount` is due. */
  store(worker: KnownWorker, rank: Rank, { tier, sequenceHashes, group }: StoredBlocks): void {
    const holder = holderOf(rank, group) ?? this.#addHolder(worker, rank, group);
    this.#count(worker, tier, this.#index.store(holder, tier, sequenceHashes));
  }

  /** A holder gives blocks up. Throws a `PrefixIndexError` when the index cannot note that; then `recount` is due. */
  remove(worker: KnownWorker, holder: number, { tier, sequenceHashes }: RemovedBlocks): void {
    this.#count(worker, tier, -this.#index.remove(holder, tier, sequenceHashes));
  }

  /** Its rules or its holders are others. */
  setHybrid({ rules, holder, groupHolders }: Rank): void {
    if (holder === undefined) return;
    if (rules === undefined) this.#hybrids.delete(holder);
    else {
      const holders = rules.groups.map((group, place) =>
        place === rules.main ? holder : groupHolders.get(group),
      );
      this.#hybrids.set({ rules, holder, holders });
    }
  }

  #addHolder(worker: KnownWorker, rank: Rank, group: number | undefined): number {
    const holder = this.#index.addHolder();
    if (group === undefined) {
      rank.holder = holder;
      this.#names.set(holder, { target: worker.target, rank: rank.rank });
    } else {
      rank.groupHolders.set(group, holder);
      this.#hybrids.addGroupHolder(holder);
    }
    this.setHybrid(rank);
    this.#version += 1;
    return holder;
  }

  #count(worker: KnownWorker, tier: Tier, added: number): void {
    const at = TIERS.indexOf(tier);
    worker.blocks += added;
    if (added > 0) {
      worker.stored += added;
      this.#churn.stored += added;
    } else {
      worker.removed -= added;
      this.#churn.removed -= added;
    }
    this.#pairs[at] = (this.#pairs[at] ?? 0) + added;
  }

  /** After a store that was cut short the index itself knows best. */
  recount(worker: KnownWorker): void {
    worker.blocks = 0;
    for (const rank of worker.ranks.values()) {
      for (const holder of holdersOf(rank)) {
        for (const tier of TIERS) worker.blocks += this.#index.blocksOf(holder, tier);
      }
    }
    this.#pairs.fill(0);
    for (const { blocks } of this.holdings()) {
      for (const [at, held] of blocks.entries()) this.#pairs[at] = (this.#pairs[at] ?? 0) + held;
    }
  }

  /** All that a rank holds is gone immediately; its memory comes back with `sweep`. False when it held nothing. */
  drop(worker: KnownWorker, rank: Rank): boolean {
    const holders = holdersOf(rank);
    if (holders.length === 0) return false;
    if (rank.holder !== undefined) this.#hybrids.delete(rank.holder);
    rank.holder = undefined;
    rank.groupHolders.clear();
    for (const holder of holders) {
      for (const tier of TIERS) this.#count(worker, tier, -this.#index.blocksOf(holder, tier));
      this.#names.delete(holder);
      this.#hybrids.deleteGroupHolder(holder);
      this.#index.dropHolder(holder);
    }
    this.#version += 1;
    return true;
  }
}

/** The number of a rank's group (undefined: of its main one) in the index; undefined while that holds nothing. */
export function holderOf(rank: Rank, group: number | undefined): number | undefined {
  return group === undefined ? rank.holder : rank.groupHolders.get(group);
}
