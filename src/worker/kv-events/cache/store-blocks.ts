import { tierBit, traitsOf } from '../../../core/blocks/block-mirror.js';
import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { EngineEvent } from '../decode/engine-event.js';
import { countable, type GroupBlocks, type GroupModules } from './group-blocks.js';
import type { LearnedStore } from './rehashed-blocks.js';
import { SparsePlaces } from './sparse-places.js';
import { planStore, type StorePlan } from './store-plan.js';

/** Most tokens of one store; what the hasher takes. */
const MAX_STORE_TOKENS = 16_777_216;

/** Which blocks the hashes of a store stand for, in each kind of KV cache group, and that they are held from now on. */
export class BlockStores {
  readonly #shared: GroupModules;

  constructor(modules: GroupModules) {
    this.#shared = modules;
  }

  /** Stores blocks of the main group. */
  store(blocks: GroupBlocks, event: EngineEvent, tier: Tier): void {
    if (tokensMatch(event)) this.#storeAfterParent(blocks, event, tier);
    else this.#shared.results.add('tokens_hashes_mismatch');
  }

  /**
   * Stores blocks of a main group that keeps only some of a prompt, as a model without full attention has it. Which, an
   * event does not say: the engine's hashes are computed to find out. Where that is not possible they are taken for the
   * last ones of its tokens, as vLLM keeps them for a prompt that comes again.
   */
  storeSparse(blocks: GroupBlocks, event: EngineEvent, tier: Tier): void {
    const { hashCount, tokenCount, tokensPerBlock, hashes } = event;
    const { results, writer } = this.#shared;
    blocks.places ??= new SparsePlaces();
    const { places } = blocks;
    const positions = event.bigram ? 0 : Math.floor(tokenCount / tokensPerBlock);
    if (positions < hashCount || positions === 0 || tokenCount > MAX_STORE_TOKENS) {
      this.store(blocks, event, tier);
      return;
    }
    const parent = event.hasParent ? blocks.mirror.find(event.parentLo, event.parentHi) : -1;
    const isHeld = parent >= 0 && !blocks.mirror.hidden(parent);
    const before = isHeld ? blocks.sequenceAt(parent) : places.sequenceBefore(event);
    const plan = planStore(this.#shared, blocks, event, tier, isHeld ? parent : -1);
    const isOpen = event.hasParent && before === undefined;
    if (isOpen || plan.hiddenFrom !== Number.POSITIVE_INFINITY || plan.media !== undefined) {
      blocks.hideFrom(0, event, tier, isOpen ? 'tokens_hashes_mismatch' : plan.hiddenWhy);
      return;
    }
    const found = places.placesOf(event, positions);
    const isDense = positions === hashCount;
    if (found === undefined && !isDense && hashCount > 0) this.#shared.onGuess();
    const hashed = this.#hash(event, plan, 0, positions, before);
    const sequenceAt = (place: number): HashHalves => ({
      lo: hashed.getUint32(8 * place, true),
      hi: hashed.getUint32(8 * place + 4, true),
    });
    if (found !== undefined) places.remember(found, sequenceAt);
    const isCopy = countable(event);
    const traits = traitsOf(tokensPerBlock, tierBit(tier), false);
    for (let i = 0; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const at = blocks.mirror.find(lo, hi);
      if (at >= 0) {
        blocks.addTier(at, tier, isCopy);
        continue;
      }
      const sequence = sequenceAt(found?.[i] ?? positions - hashCount + i);
      if (!blocks.mirror.add(lo, hi, sequence.lo, sequence.hi, plan.namespace, traits)) {
        this.#shared.onFull();
        return;
      }
      writer.stored(tier, tokensPerBlock, sequence.lo, sequence.hi, blocks.label);
      results.add('applied');
    }
    if (results.size === 0) results.add(hashCount === 0 ? 'no_whole_block' : 'duplicate');
  }

  /**
   * Stores blocks of another group than `main`. A sparse group (a window's, a state's) announces fewer blocks than its
   * tokens are, and not which (vLLM, `block_pool.py`, `cache_full_blocks`). The engine's hash of a block is that of the
   * whole prompt up to its end, in every group: where `main` has it in the same width, it is the same block.
   */
  storeBeside(blocks: GroupBlocks, main: GroupBlocks, event: EngineEvent, tier: Tier): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const { results, writer } = this.#shared;
    const other = main.mirror;
    const isCopy = countable(event);
    if (isFirstHere(blocks, main, event) && canFollow(blocks, event)) {
      this.#storeAfterParent(blocks, event, tier);
      return;
    }
    for (let i = 0; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const held = blocks.mirror.find(lo, hi);
      if (held >= 0) {
        blocks.addTier(held, tier, isCopy);
        continue;
      }
      const at = other.find(lo, hi);
      const isKnown = at >= 0 && other.tokensPerBlock(at) === tokensPerBlock;
      if (!isKnown) blocks.leaveOut('tokens_hashes_mismatch');
      const hidden = !isKnown || other.hidden(at);
      const sequenceLo = hidden ? 0 : other.sequenceLo(at);
      const sequenceHi = hidden ? 0 : other.sequenceHi(at);
      const traits = traitsOf(tokensPerBlock, tierBit(tier), hidden);
      const namespace = hidden ? 0 : other.namespace(at);
      if (!blocks.mirror.add(lo, hi, sequenceLo, sequenceHi, namespace, traits)) {
        this.#shared.onFull();
        return;
      }
      if (hidden) continue;
      writer.stored(tier, tokensPerBlock, sequenceLo, sequenceHi, blocks.label);
      results.add('applied');
    }
    if (results.size === 0) results.add('duplicate');
  }

  #storeAfterParent(blocks: GroupBlocks, event: EngineEvent, tier: Tier): void {
    const { mirror } = blocks;
    const first = mirror.find(event.hashes[0] ?? 0, event.hashes[1] ?? 0);
    const parent = event.hasParent ? mirror.find(event.parentLo, event.parentHi) : -1;
    if (event.hasParent && parent < 0 && first < 0) {
      this.#shared.results.add('unknown_parent');
      this.#shared.onOrphan();
      return;
    }
    if (parent >= 0 && mirror.hidden(parent)) {
      blocks.hideFrom(0, event, tier, 'hidden_parent');
      return;
    }
    const base = event.hasParent ? (parent >= 0 ? parent : first) : -1;
    const plan = planStore(this.#shared, blocks, event, tier, base);
    this.#storeBlocks(blocks, event, plan, parent >= 0 ? blocks.sequenceAt(parent) : undefined);
    if (this.#shared.results.size === 0) this.#shared.results.add('duplicate');
  }

  /**
   * Stores the blocks of an event in order. Those at its start that are held
   * already are not hashed again; the first that is not, and all after it, are.
   */
  #storeBlocks(
    blocks: GroupBlocks,
    event: EngineEvent,
    plan: StorePlan,
    parent: HashHalves | undefined,
  ): void {
    const { hashes } = event;
    const { mirror } = blocks;
    const { tier, tokensPerBlock, namespace } = plan;
    const traits = traitsOf(tokensPerBlock, tierBit(tier), false);
    const end = Math.min(event.hashCount, plan.hiddenFrom);
    const isCopy = countable(event);
    const learned = this.#shared.rehashed === undefined ? undefined : learnedStore(event, plan);
    let hasBefore = parent !== undefined;
    let beforeLo = parent?.lo ?? 0;
    let beforeHi = parent?.hi ?? 0;
    let hashed: DataView | undefined;
    let hashedFrom = 0;
    for (let i = 0; i < end; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      let at = mirror.find(lo, hi);
      if (at >= 0 && yieldsTo(blocks, at, plan)) at = -1;
      if (at >= 0) {
        const conflict = conflictAt(blocks, at, plan, hashed, i - hashedFrom);
        if (conflict === 'width_conflict') {
          this.#shared.results.add(conflict);
          return;
        }
        if (conflict !== undefined) {
          blocks.hideFrom(i, event, tier, conflict);
          return;
        }
        blocks.addTier(at, tier, isCopy);
        hasBefore = true;
        beforeLo = mirror.sequenceLo(at);
        beforeHi = mirror.sequenceHi(at);
        continue;
      }
      if (hashed === undefined) {
        const before = hasBefore ? { lo: beforeLo, hi: beforeHi } : undefined;
        hashed = this.#hash(event, plan, i, end, before);
        hashedFrom = i;
      }
      const sequenceLo = hashed.getUint32(8 * (i - hashedFrom), true);
      const sequenceHi = hashed.getUint32(8 * (i - hashedFrom) + 4, true);
      if (!mirror.add(lo, hi, sequenceLo, sequenceHi, namespace, traits)) {
        this.#shared.onFull();
        return;
      }
      if (learned !== undefined) {
        learned.hasBefore = hasBefore;
        learned.beforeLo = beforeLo;
        learned.beforeHi = beforeHi;
        learned.hasMedia = (plan.media?.[i]?.length ?? 0) > 0;
        this.#shared.rehashed?.learn(sequenceLo, sequenceHi, i, learned);
        hasBefore = true;
        beforeLo = sequenceLo;
        beforeHi = sequenceHi;
      }
      this.#shared.writer.stored(tier, tokensPerBlock, sequenceLo, sequenceHi, blocks.label);
      this.#shared.results.add('applied');
    }
    if (end < event.hashCount) blocks.hideFrom(end, event, tier, plan.hiddenWhy);
  }

  #hash(
    event: EngineEvent,
    plan: StorePlan,
    start: number,
    end: number,
    parent: HashHalves | undefined,
  ): DataView {
    const { tokensPerBlock } = plan;
    const last = end * tokensPerBlock + (event.bigram ? 1 : 0);
    const { sequenceHashes } = this.#shared.hasher.hashTokens(
      event.tokens.subarray(start * tokensPerBlock, last),
      {
        tokensPerBlock,
        unit: event.bigram ? 'bigram' : 'token',
        seed: plan.seed,
        parent,
        media: plan.media?.slice(start, end),
      },
    );
    return new DataView(sequenceHashes.buffer, sequenceHashes.byteOffset, sequenceHashes.byteLength);
  }
}

/**
 * Whether the tokens are those of the hashes: all of each block, and at most
 * the start of one more. vLLM's sparse groups name the tokens of blocks that
 * they leave out as well, so that it is not known which hash is whose.
 */
function tokensMatch(event: EngineEvent): boolean {
  const positions = event.bigram ? event.tokenCount - 1 : event.tokenCount;
  const whole = event.hashCount * event.tokensPerBlock;
  return (
    event.pairsJoin &&
    positions >= whole &&
    positions < whole + event.tokensPerBlock &&
    event.tokenCount <= MAX_STORE_TOKENS
  );
}

/** Made once for each event, and changed from block to block. */
function learnedStore(
  { tokens, bigram, lookaheadTokens }: EngineEvent,
  { tokensPerBlock, seed }: StorePlan,
): LearnedStore {
  const before = { hasBefore: false, beforeLo: 0, beforeHi: 0, hasMedia: false };
  return { tokens, tokensPerBlock, seed, reachesFarther: bigram || lookaheadTokens > 0, ...before };
}

/** The first block of the store is not known yet, so that `main` cannot say which it is. */
function isFirstHere(
  blocks: GroupBlocks,
  main: GroupBlocks,
  { hashes, tokensPerBlock }: EngineEvent,
): boolean {
  const lo = hashes[0] ?? 0;
  const hi = hashes[1] ?? 0;
  const at = main.mirror.find(lo, hi);
  const isOther = at < 0 || main.mirror.tokensPerBlock(at) !== tokensPerBlock;
  return isOther && blocks.mirror.find(lo, hi) < 0;
}

/** Every block of the tokens is in the store, and the one before them is held. */
function canFollow(blocks: GroupBlocks, event: EngineEvent): boolean {
  return tokensMatch(event) && (!event.hasParent || blocks.mirror.find(event.parentLo, event.parentHi) >= 0);
}

/** A farther tier may hold larger blocks under the same hash; the device's own come first. Takes such a one out. */
function yieldsTo(blocks: GroupBlocks, at: number, plan: StorePlan): boolean {
  const { mirror } = blocks;
  const yields =
    plan.tier === 'device' &&
    mirror.tokensPerBlock(at) !== plan.tokensPerBlock &&
    (mirror.tiers(at) & tierBit('device')) === 0;
  if (!yields) return false;
  blocks.reportGone(at);
  mirror.remove(at);
  return true;
}

/** Why a block that is held already cannot be the one that is stored; undefined when it can. */
function conflictAt(
  { mirror }: GroupBlocks,
  at: number,
  plan: StorePlan,
  hashed: DataView | undefined,
  index: number,
): 'hidden_parent' | 'width_conflict' | 'ambiguous_salt' | undefined {
  if (mirror.hidden(at)) return 'hidden_parent';
  if (mirror.tokensPerBlock(at) !== plan.tokensPerBlock) return 'width_conflict';
  if (mirror.namespace(at) !== plan.namespace) return 'ambiguous_salt';
  if (hashed === undefined) return undefined;
  const same =
    mirror.sequenceLo(at) === hashed.getUint32(8 * index, true) &&
    mirror.sequenceHi(at) === hashed.getUint32(8 * index + 4, true);
  return same ? undefined : 'ambiguous_salt';
}
