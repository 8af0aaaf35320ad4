import type { BlockHasher } from '../../core/blocks/block-hasher.js';
import { BlockMirror, type MirrorPiece, tierBit, traitsOf } from '../../core/blocks/block-mirror.js';
import type { HashHalves } from '../../core/blocks/packed-hashes.js';
import { TIERS, type Tier } from '../../core/blocks/tier.js';
import { isTokensPerBlock } from '../../core/contract/tokens-per-block.js';
import type { BlockWriter } from './change-writer.js';
import type { EngineEvent } from './engine-event.js';
import type { EventResult } from './event-counts.js';
import { readExtras } from './media.js';
import type { MsgpackReader } from './msgpack-reader.js';
import type { NamespaceTable } from './namespace-table.js';
import type { LearnedStore, RehashedBlocks } from './rehashed-blocks.js';
import { SparsePlaces } from './sparse-places.js';

/** Most tokens of one store; what the hasher takes. */
const MAX_STORE_TOKENS = 16_777_216;

/** What the groups of one rank share. */
export interface GroupModules {
  readonly hasher: BlockHasher;
  readonly writer: BlockWriter;
  /** Takes each new block of the main group before it is reported, with its tokens; absent unless blocks are re-hashed. */
  readonly rehashed?: Pick<RehashedBlocks, 'learn'> | undefined;
  readonly namespaces: NamespaceTable;
  /** Stands on the event that is given. */
  readonly reader: MsgpackReader;
  /** What comes of the event that is given. */
  readonly results: Set<EventResult>;
  /** Blocks follow one that is not known. */
  readonly onOrphan: () => void;
  /** Blocks are kept out that a prompt may ask for, and why. */
  readonly onLack: (reason: string) => void;
  /** Blocks are credited of which it is not known for sure where in their prompt they are. */
  readonly onGuess: () => void;
  /** There is no room for more blocks. */
  readonly onFull: () => void;
}

/** Where a store goes, once it has passed all that is asked of the event as a whole. */
interface StorePlan {
  readonly tier: Tier;
  readonly tokensPerBlock: number;
  readonly namespace: number;
  readonly seed: HashHalves;
  /** Hashes of media by block; undefined when there are none. */
  readonly media: readonly (readonly HashHalves[])[] | undefined;
  /** Blocks from this one on are kept out, for `hiddenWhy`. */
  readonly hiddenFrom: number;
  readonly hiddenWhy: EventResult;
}

/** Blocks of one KV cache group, and how its stores and removals change them. */
export class GroupBlocks {
  readonly #shared: GroupModules;
  readonly #mirror: BlockMirror;
  #places: SparsePlaces | undefined;
  /** `CacheGroup.index` for readers; undefined while it is the main group. */
  label: number | undefined;
  /** Each copy of a block that the engine holds is announced, when it comes and when it goes. */
  countsCopies = true;

  constructor(maxBlocks: number, modules: GroupModules) {
    this.#shared = modules;
    this.#mirror = new BlockMirror(maxBlocks);
  }

  /** Blocks held, those included that are kept out. */
  get size(): number {
    return this.#mirror.size;
  }

  /** Blocks that are kept out. */
  get hiddenCount(): number {
    return this.#mirror.hiddenCount;
  }

  /** Copies beyond the first of a block in a tier. */
  get copyCount(): number {
    return this.#mirror.copyCount;
  }

  /** How many blocks are in a namespace. */
  countIn(namespace: number): number {
    return this.#mirror.countIn(namespace);
  }

  clear(): void {
    this.#mirror.clear();
    this.#places?.clear();
  }

  /** From now on a block counts once in a tier, however often it was stored. */
  ignoreCopies(): void {
    this.countsCopies = false;
    this.#mirror.forgetCopies();
  }

  /** All that is held and not kept out; see `BlockMirror.pieces`. */
  pieces(maxHashes: number): { next(): MirrorPiece | undefined } {
    return this.#mirror.pieces(maxHashes);
  }

  /** Stores blocks of the main group. */
  store(event: EngineEvent, tier: Tier): void {
    if (tokensMatch(event)) this.#storeAfterParent(event, tier);
    else this.#shared.results.add('tokens_hashes_mismatch');
  }

  /**
   * Stores blocks of a main group that keeps only some of a prompt, as a model without full attention has it. Which, an
   * event does not say: the engine's hashes are computed to find out. Where that is not possible they are taken for the
   * last ones of its tokens, as vLLM keeps them for a prompt that comes again.
   */
  storeSparse(event: EngineEvent, tier: Tier): void {
    const { hashCount, tokenCount, tokensPerBlock, hashes } = event;
    const { results, writer } = this.#shared;
    const places = this.#placesOf();
    const positions = event.bigram ? 0 : Math.floor(tokenCount / tokensPerBlock);
    if (positions < hashCount || positions === 0 || tokenCount > MAX_STORE_TOKENS) {
      this.store(event, tier);
      return;
    }
    const parent = event.hasParent ? this.#mirror.find(event.parentLo, event.parentHi) : -1;
    const isHeld = parent >= 0 && !this.#mirror.hidden(parent);
    const before = isHeld ? this.#sequenceAt(parent) : places.sequenceBefore(event);
    const plan = this.#planOf(event, tier, tokensPerBlock, isHeld ? parent : -1);
    const isOpen = event.hasParent && before === undefined;
    if (isOpen || plan.hiddenFrom !== Number.POSITIVE_INFINITY || plan.media !== undefined) {
      this.#hideFrom(0, event, tier, isOpen ? 'tokens_hashes_mismatch' : plan.hiddenWhy);
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
      const at = this.#mirror.find(lo, hi);
      if (at >= 0) {
        this.#addTier(at, tier, isCopy);
        continue;
      }
      const sequence = sequenceAt(found?.[i] ?? positions - hashCount + i);
      if (!this.#mirror.add(lo, hi, sequence.lo, sequence.hi, plan.namespace, traits)) {
        this.#shared.onFull();
        return;
      }
      writer.stored(tier, tokensPerBlock, sequence.lo, sequence.hi, this.label);
      results.add('applied');
    }
    if (results.size === 0) results.add(hashCount === 0 ? 'no_whole_block' : 'duplicate');
  }

  /** Made when the first sparse store comes: few models need it. */
  #placesOf(): SparsePlaces {
    this.#places ??= new SparsePlaces();
    return this.#places;
  }

  /**
   * Stores blocks of another group than `main`. A sparse group (a window's, a state's) announces fewer blocks than its
   * tokens are, and not which (vLLM, `block_pool.py`, `cache_full_blocks`). The engine's hash of a block is that of the
   * whole prompt up to its end, in every group: where `main` has it in the same width, it is the same block.
   */
  storeBeside(event: EngineEvent, tier: Tier, main: GroupBlocks): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const { results, writer } = this.#shared;
    const other = main.#mirror;
    const isCopy = countable(event);
    if (this.#isFirstHere(event, main) && this.#canFollow(event)) {
      this.#storeAfterParent(event, tier);
      return;
    }
    for (let i = 0; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const held = this.#mirror.find(lo, hi);
      if (held >= 0) {
        this.#addTier(held, tier, isCopy);
        continue;
      }
      const at = other.find(lo, hi);
      const isKnown = at >= 0 && other.tokensPerBlock(at) === tokensPerBlock;
      if (!isKnown) this.#leaveOut('tokens_hashes_mismatch');
      const hidden = !isKnown || other.hidden(at);
      const sequenceLo = hidden ? 0 : other.sequenceLo(at);
      const sequenceHi = hidden ? 0 : other.sequenceHi(at);
      const traits = traitsOf(tokensPerBlock, tierBit(tier), hidden);
      const namespace = hidden ? 0 : other.namespace(at);
      if (!this.#mirror.add(lo, hi, sequenceLo, sequenceHi, namespace, traits)) {
        this.#shared.onFull();
        return;
      }
      if (hidden) continue;
      writer.stored(tier, tokensPerBlock, sequenceLo, sequenceHi, this.label);
      results.add('applied');
    }
    if (results.size === 0) results.add('duplicate');
  }

  /** The first block of the store is not known yet, so that `main` cannot say which it is. */
  #isFirstHere({ hashes, tokensPerBlock }: EngineEvent, main: GroupBlocks): boolean {
    const lo = hashes[0] ?? 0;
    const hi = hashes[1] ?? 0;
    const at = main.#mirror.find(lo, hi);
    const isOther = at < 0 || main.#mirror.tokensPerBlock(at) !== tokensPerBlock;
    return isOther && this.#mirror.find(lo, hi) < 0;
  }

  /** Every block of the tokens is in the store, and the one before them is held. */
  #canFollow(event: EngineEvent): boolean {
    return tokensMatch(event) && (!event.hasParent || this.#mirror.find(event.parentLo, event.parentHi) >= 0);
  }

  #leaveOut(why: EventResult): void {
    this.#shared.results.add(why);
    const lack = LACKS[why];
    if (lack !== undefined) this.#shared.onLack(lack);
  }

  /** A store without tokens, as offloading connectors send it: copies of blocks that are held elsewhere. */
  storeKnown(event: EngineEvent, tier: Tier): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    for (let i = 0; i < hashCount; i++) {
      const at = this.#mirror.find(hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      if (at < 0) this.#shared.results.add('tokens_hashes_mismatch');
      else if (isTokensPerBlock(tokensPerBlock) && this.#mirror.tokensPerBlock(at) !== tokensPerBlock) {
        this.#shared.results.add('width_conflict');
      } else this.#addTier(at, tier, false);
    }
    if (this.#shared.results.size === 0) this.#shared.results.add('duplicate');
  }

  #storeAfterParent(event: EngineEvent, tier: Tier): void {
    const mirror = this.#mirror;
    const first = mirror.find(event.hashes[0] ?? 0, event.hashes[1] ?? 0);
    const parent = event.hasParent ? mirror.find(event.parentLo, event.parentHi) : -1;
    const { tokensPerBlock } = event;
    if (event.hasParent && parent < 0 && first < 0) {
      this.#shared.results.add('unknown_parent');
      this.#shared.onOrphan();
      return;
    }
    if (parent >= 0 && mirror.hidden(parent)) {
      this.#hideFrom(0, event, tier, 'hidden_parent');
      return;
    }
    const base = event.hasParent ? (parent >= 0 ? parent : first) : -1;
    const plan = this.#planOf(event, tier, tokensPerBlock, base);
    this.#storeBlocks(event, plan, parent >= 0 ? this.#sequenceAt(parent) : undefined);
    if (this.#shared.results.size === 0) this.#shared.results.add('duplicate');
  }

  /** Settles the namespace: that of the event, with what the block at `base` hands down. */
  #planOf(event: EngineEvent, tier: Tier, tokensPerBlock: number, base: number): StorePlan {
    const inherited = base < 0 ? undefined : this.#shared.namespaces.at(this.#mirror.namespace(base));
    const own = { loraName: event.loraName ?? '', cacheSalt: event.cacheSalt ?? '' };
    const loraName = own.loraName || (inherited?.loraName ?? '');
    const knownSalt = own.cacheSalt || (inherited?.cacheSalt ?? '');
    const extras = readExtras(this.#shared.reader, event, loraName, knownSalt);
    const id = this.#shared.namespaces.idOf(loraName, extras.cacheSalt ?? knownSalt);
    const namespace = id ?? 0;
    const shared = {
      tier,
      tokensPerBlock,
      namespace,
      seed: this.#shared.namespaces.at(namespace)?.seed ?? { lo: 0, hi: 0 },
      media: extras.media,
    };
    const disowned =
      inherited !== undefined && (inherited.loraName !== loraName || inherited.cacheSalt !== knownSalt);
    if (disowned) return { ...shared, hiddenFrom: 0, hiddenWhy: 'ambiguous_salt' };
    if (event.hasLoraId && loraName === '' && !event.nameTooLong) {
      return { ...shared, hiddenFrom: 0, hiddenWhy: 'unnamed_lora' };
    }
    if (event.nameTooLong || id === undefined) {
      return { ...shared, hiddenFrom: 0, hiddenWhy: 'namespace_refused' };
    }
    const hiddenFrom = Math.min(extras.unknownFrom, event.unidentifiedFrom);
    return { ...shared, hiddenFrom, hiddenWhy: 'media_identity_unknown' };
  }

  /**
   * Stores the blocks of an event in order. Those at its start that are held
   * already are not hashed again; the first that is not, and all after it, are.
   */
  #storeBlocks(event: EngineEvent, plan: StorePlan, parent: HashHalves | undefined): void {
    const { hashes } = event;
    const { tier, tokensPerBlock, namespace } = plan;
    const tiers = tierBit(tier);
    const traits = traitsOf(tokensPerBlock, tiers, false);
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
      let at = this.#mirror.find(lo, hi);
      if (at >= 0 && this.#yieldsTo(at, plan)) at = -1;
      if (at >= 0) {
        const conflict = this.#conflictAt(at, plan, hashed, i - hashedFrom);
        if (conflict === 'width_conflict') {
          this.#shared.results.add(conflict);
          return;
        }
        if (conflict !== undefined) {
          this.#hideFrom(i, event, tier, conflict);
          return;
        }
        this.#addTier(at, tier, isCopy);
        hasBefore = true;
        beforeLo = this.#mirror.sequenceLo(at);
        beforeHi = this.#mirror.sequenceHi(at);
        continue;
      }
      if (hashed === undefined) {
        const before = hasBefore ? { lo: beforeLo, hi: beforeHi } : undefined;
        hashed = this.#hash(event, plan, i, end, before);
        hashedFrom = i;
      }
      const sequenceLo = hashed.getUint32(8 * (i - hashedFrom), true);
      const sequenceHi = hashed.getUint32(8 * (i - hashedFrom) + 4, true);
      if (!this.#mirror.add(lo, hi, sequenceLo, sequenceHi, namespace, traits)) {
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
      this.#shared.writer.stored(tier, tokensPerBlock, sequenceLo, sequenceHi, this.label);
      this.#shared.results.add('applied');
    }
    if (end < event.hashCount) this.#hideFrom(end, event, tier, plan.hiddenWhy);
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

  /** A farther tier may hold larger blocks under the same hash; the device's own come first. Takes such a one out. */
  #yieldsTo(at: number, plan: StorePlan): boolean {
    const mirror = this.#mirror;
    const yields =
      plan.tier === 'device' &&
      mirror.tokensPerBlock(at) !== plan.tokensPerBlock &&
      (mirror.tiers(at) & tierBit('device')) === 0;
    if (!yields) return false;
    this.#reportGone(at);
    mirror.remove(at);
    return true;
  }

  /** Why a block that is held already cannot be the one that is stored; undefined when it can. */
  #conflictAt(
    at: number,
    plan: StorePlan,
    hashed: DataView | undefined,
    index: number,
  ): 'hidden_parent' | 'width_conflict' | 'ambiguous_salt' | undefined {
    const mirror = this.#mirror;
    if (mirror.hidden(at)) return 'hidden_parent';
    if (mirror.tokensPerBlock(at) !== plan.tokensPerBlock) return 'width_conflict';
    if (mirror.namespace(at) !== plan.namespace) return 'ambiguous_salt';
    if (hashed === undefined) return undefined;
    const same =
      mirror.sequenceLo(at) === hashed.getUint32(8 * index, true) &&
      mirror.sequenceHi(at) === hashed.getUint32(8 * index + 4, true);
    return same ? undefined : 'ambiguous_salt';
  }

  /** Keeps the blocks of an event from the given one on out of all that is reported, but remembers them. */
  #hideFrom(start: number, event: EngineEvent, tier: Tier, why: EventResult): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const mirror = this.#mirror;
    const tiers = tierBit(tier);
    const traits = traitsOf(tokensPerBlock, tiers, true);
    this.#leaveOut(why);
    for (let i = start; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const at = mirror.find(lo, hi);
      if (at >= 0) {
        this.#reportGone(at);
        mirror.hide(at);
        this.#addTier(at, tier, countable(event));
      } else if (!mirror.add(lo, hi, 0, 0, 0, traits)) {
        this.#shared.onFull();
        return;
      }
    }
  }

  /** Where the block is in the tier already, the engine has one more copy of it. */
  #addTier(at: number, tier: Tier, isCopy: boolean): void {
    const mirror = this.#mirror;
    const tiers = mirror.tiers(at);
    const bit = tierBit(tier);
    if ((tiers & bit) !== 0) {
      if (isCopy && this.countsCopies) mirror.addCopy(at, TIERS.indexOf(tier));
      return;
    }
    mirror.setTiers(at, tiers | bit);
    if (mirror.hidden(at)) return;
    const width = mirror.tokensPerBlock(at);
    this.#shared.writer.stored(tier, width, mirror.sequenceLo(at), mirror.sequenceHi(at), this.label);
    this.#shared.results.add('applied');
  }

  /** Takes blocks out of one tier, or out of all when the event names none; of several copies one. */
  remove(event: EngineEvent, tier: Tier): void {
    const { hashes, hashCount } = event;
    const { results } = this.#shared;
    const mirror = this.#mirror;
    const asked = event.everyTier ? EVERY_TIER : tierBit(tier);
    for (let i = 0; i < hashCount; i++) {
      const at = mirror.find(hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      const gone = at < 0 ? 0 : mirror.tiers(at) & asked;
      if (gone === 0) {
        results.add('unknown_block');
        continue;
      }
      if (!event.everyTier && mirror.dropCopy(at, TIERS.indexOf(tier))) {
        results.add('copy_left');
        continue;
      }
      this.#reportGone(at, gone);
      const left = mirror.tiers(at) & ~gone;
      if (left === 0) mirror.remove(at);
      else mirror.setTiers(at, left);
      results.add('applied');
    }
  }

  /** Reports that a block is gone from tiers: from all it is in unless some are named. */
  #reportGone(at: number, tiers: number = this.#mirror.tiers(at)): void {
    if (this.#mirror.hidden(at)) return;
    for (const tier of TIERS) {
      if ((tiers & tierBit(tier)) === 0) continue;
      const { writer } = this.#shared;
      writer.removed(tier, this.#mirror.sequenceLo(at), this.#mirror.sequenceHi(at), this.label);
    }
  }

  #sequenceAt(at: number): HashHalves {
    return { lo: this.#mirror.sequenceLo(at), hi: this.#mirror.sequenceHi(at) };
  }
}

/** Why blocks that a prompt may ask for are missing, by what kept them out. */
const LACKS: Partial<Record<EventResult, string>> = {
  namespace_refused:
    'has more LoRA names and cache salts, or longer ones, than are kept: blocks are left out',
  ambiguous_salt: 'named a LoRA or cache salt for blocks that belong to another: they are left out',
  tokens_hashes_mismatch:
    'has blocks of a KV cache group whose place in their prompt is not known: they are left out',
  unnamed_lora: 'has blocks of LoRA adapters that its events do not name: they are left out',
};

const EVERY_TIER = (1 << TIERS.length) - 1;

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
function learnedStore({ tokens, bigram }: EngineEvent, { tokensPerBlock, seed }: StorePlan): LearnedStore {
  const before = { hasBefore: false, beforeLo: 0, beforeHi: 0, hasMedia: false };
  return { tokens, tokensPerBlock, seed, isBigram: bigram, ...before };
}

/** Whether a store announces a copy of its own (see `GroupBlocks.countsCopies`): of engines only vLLM names the kind. */
function countable(event: EngineEvent): boolean {
  return event.attentionKind !== undefined;
}
