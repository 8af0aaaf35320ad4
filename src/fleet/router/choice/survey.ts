import { HASH_BYTES } from '../../../core/blocks/packed-hashes.js';
import { TIERS } from '../../../core/blocks/tier.js';
import type { AskedIndex, AskedPrompt } from '../../indexer/index/asked-index.js';
import type { ActiveBlocks } from './active-blocks.js';
import { type CostWeights, logitOf, overlapCredit, potentialPrefillBlocks } from './cost.js';
import { type KnownRank, keyOf, NOWHERE, type RankTable } from './rank-table.js';

/** A prompt as the index is asked. */
export interface RoutedPrompt extends AskedPrompt {
  /** Whether the engine will not look into its cache: then nothing that it holds helps. Default false. */
  readonly isUnread?: boolean;
}

/** What a request is weighed with. */
export interface SurveyedEpoch {
  readonly tokensPerBlock: number;
  readonly index: AskedIndex | undefined;
  readonly active: ActiveBlocks;
  /** Prompts on their way whose blocks are expected where they go. */
  readonly inFlight: ActiveBlocks;
}

/**
 * What one request would cost on each rank. All lists are by place in the rank
 * table, are good until the next look, and are used again by it.
 */
export class Survey {
  readonly #ranks: RankTable;
  readonly #weights: CostWeights;
  /** Leading blocks of the best of those that are no candidates, such as who drains. */
  get outsideBlocks(): number {
    return this.#outsideBlocks;
  }

  /** Leading blocks that a rank holds in any tier. */
  heldBlocks(place: number): number {
    return this.#held[place] ?? 0;
  }

  /** Leading blocks of prompts on their way there. */
  flyingBlocks(place: number): number {
    return this.#flying[place] ?? 0;
  }

  /** Leading blocks by tier, each counting those above it. */
  #cached: readonly Uint32Array[] = [];
  /** In any tier. */
  #held: Uint32Array = new Uint32Array(0);
  #shared = new Uint32Array(0);
  #flying = new Uint32Array(0);
  #outsideBlocks = 0;
  #prefillBlocks = new Float64Array(0);
  #activeBlocks = new Float64Array(0);
  #logits = new Float64Array(0);
  /** Places by holder of the index, of those of whose cache something is expected. */
  #placesOfHolders = new Int32Array(0);
  /** What these were made of. */
  #holdersOf: { readonly index: AskedIndex; readonly holders: number; readonly ranks: number } | undefined;

  constructor(ranks: RankTable, weights: CostWeights) {
    this.#ranks = ranks;
    this.#weights = weights;
  }

  /** By place. */
  get logits(): Float64Array {
    return this.#logits;
  }

  /** Blocks of the prompt that would have to be computed. */
  prefillBlocks(place: number): number {
    return this.#prefillBlocks[place] ?? 0;
  }

  /** Active blocks with this request's added. */
  activeBlocks(place: number): number {
    return this.#activeBlocks[place] ?? 0;
  }

  /** Leading blocks that are active there already. */
  sharedBlocks(place: number): number {
    return this.#shared[place] ?? 0;
  }

  /** Leading blocks by tier, each counting those above it. */
  cachedBlocks(place: number): number[] {
    return this.#cached.map((blocks) => blocks[place] ?? 0);
  }

  /** Looks at all ranks. Without a prompt nothing is cached, nothing has to be computed and nothing is added. */
  take(prompt: RoutedPrompt | undefined, epoch: SurveyedEpoch): void {
    const { active, tokensPerBlock } = epoch;
    const { all } = this.#ranks;
    this.#reserve(all.length);
    this.#outsideBlocks = 0;
    if (prompt === undefined) {
      for (const list of [this.#shared, this.#flying, ...this.#cached]) list.fill(0, 0, all.length);
    } else {
      this.#findActive(prompt, active);
      this.#findFlying(prompt, epoch.inFlight);
      if (prompt.isUnread === true)
        for (const list of [this.#flying, ...this.#cached]) list.fill(0, 0, all.length);
      else this.#findCached(prompt, epoch.index);
    }
    const tokenCount = prompt?.tokenCount ?? 0;
    const promptBlocks = prompt === undefined ? 0 : blocksOf(prompt, tokensPerBlock);
    const weights = this.#weights;
    const [device, host, disk] = this.#cached as [Uint32Array, Uint32Array, Uint32Array];
    // Counted by hand: an iterator would allocate for each of them, and the collector stop for it now and then.
    for (let place = 0; place < all.length; place += 1) {
      const rank = all[place] as KnownRank;
      // Of one whose results contradict its view, what it may be computing proves nothing either.
      const flying = rank.trust === undefined ? (this.#flying[place] as number) : 0;
      const held = overlapCredit(
        Math.max(flying, device[place] as number),
        Math.max(flying, host[place] as number),
        Math.max(flying, disk[place] as number),
        weights,
      );
      const credit = rank.trust === undefined ? held : rank.trust * held;
      const prefillBlocks = potentialPrefillBlocks(tokenCount, credit, tokensPerBlock);
      const activeBlocks = active.blocksOn(rank.active) + promptBlocks - (this.#shared[place] as number);
      this.#prefillBlocks[place] = prefillBlocks;
      this.#activeBlocks[place] = activeBlocks;
      this.#logits[place] = logitOf(weights.overlapScoreWeight, prefillBlocks, activeBlocks);
    }
  }

  #findActive({ sequenceHashes }: RoutedPrompt, active: ActiveBlocks): void {
    this.#shared.fill(0, 0, this.#ranks.all.length);
    const { count, holders, depths } = active.match(sequenceHashes);
    for (let at = 0; at < count; at += 1) {
      const place = this.#ranks.placeOfActive(holders[at] as number);
      if (place !== NOWHERE) this.#shared[place] = depths[at] as number;
    }
  }

  #findFlying({ sequenceHashes }: RoutedPrompt, inFlight: ActiveBlocks): void {
    this.#flying.fill(0, 0, this.#ranks.all.length);
    if (inFlight.trackedBlocks === 0) return;
    const { count, holders, depths } = inFlight.match(sequenceHashes);
    for (let at = 0; at < count; at += 1) {
      const place = this.#ranks.placeOfFlight(holders[at] as number);
      if (place !== NOWHERE) this.#flying[place] = depths[at] as number;
    }
  }

  #findCached(prompt: RoutedPrompt, index: AskedIndex | undefined): void {
    const count = this.#ranks.all.length;
    if (index !== undefined) this.#followHolders(index);
    for (const [at, tier] of TIERS.entries()) {
      const blocks = this.#cached[at] as Uint32Array;
      const matches = index?.match(prompt, tier);
      if (matches === undefined) {
        const above = this.#cached[at - 1];
        if (above === undefined) blocks.fill(0, 0, count);
        else blocks.set(above.subarray(0, count));
        continue;
      }
      blocks.fill(0, 0, count);
      for (let match = 0; match < matches.count; match += 1) {
        const place = this.#placesOfHolders[matches.holders[match] as number] ?? NOWHERE;
        const depth = matches.depths[match] as number;
        if (place !== NOWHERE) blocks[place] = depth;
        else if (depth > this.#outsideBlocks) this.#outsideBlocks = depth;
      }
    }
  }

  /** Leading blocks that one rank holds in any tier now, and the best of the others. */
  find(
    prompt: RoutedPrompt,
    place: number,
    { index }: SurveyedEpoch,
  ): { readonly here: number; readonly elsewhere: number } {
    const { length } = this.#ranks.all;
    this.#reserve(length);
    this.#findCached(prompt, index);
    const held = this.#held;
    let elsewhere = 0;
    for (let other = 0; other < length; other += 1)
      if (other !== place) elsewhere = Math.max(elsewhere, held[other] as number);
    return { here: held[place] ?? 0, elsewhere };
  }

  #followHolders(index: AskedIndex): void {
    const { version } = this.#ranks;
    const { holdersVersion } = index;
    const made = this.#holdersOf;
    if (made?.index === index && made.holders === holdersVersion && made.ranks === version) return;
    const holdings = index.holdings();
    const places = this.#ranks.placesByKey();
    this.#placesOfHolders = new Int32Array(
      1 + holdings.reduce((most, { holder }) => Math.max(most, holder), 0),
    ).fill(NOWHERE);
    for (const { holder, target, rank, cacheGroup } of holdings) {
      if (cacheGroup !== undefined) continue;
      const place = places.get(keyOf(target, rank));
      if (place !== undefined && this.#ranks.at(place).candidate.offer === 'full')
        this.#placesOfHolders[holder] = place;
    }
    this.#holdersOf = { index, holders: holdersVersion, ranks: version };
  }

  #reserve(count: number): void {
    if (this.#logits.length >= count) return;
    // Half as many again, so that a fleet that grows one by one does not make all again for each.
    const room = Math.ceil(1.5 * count);
    this.#cached = TIERS.map(() => new Uint32Array(room));
    this.#held = this.#cached.at(-1) as Uint32Array;
    this.#shared = new Uint32Array(room);
    this.#flying = new Uint32Array(room);
    this.#prefillBlocks = new Float64Array(room);
    this.#activeBlocks = new Float64Array(room);
    this.#logits = new Float64Array(room);
  }
}

/** Blocks of a prompt, a last partial one counted. */
export function blocksOf({ sequenceHashes, tokenCount }: RoutedPrompt, tokensPerBlock: number): number {
  return Math.max(Math.ceil(tokenCount / tokensPerBlock), sequenceHashes.length / HASH_BYTES);
}
