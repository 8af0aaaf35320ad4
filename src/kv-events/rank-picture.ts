import type { BlockHasher } from '../blocks/block-hasher.js';
import { BlockMirror, type MirrorPiece, tierBit, traitsOf } from '../blocks/block-mirror.js';
import type { HashWords } from '../blocks/packed-hashes.js';
import { TIERS, type Tier } from '../blocks/tier.js';
import { isTokensPerBlock } from '../contract/tokens-per-block.js';
import { ChangeWriter } from './change-writer.js';
import { BatchDecoder, type BatchHead, toTheEnd } from './decode-batch.js';
import type { EngineEvent } from './engine-event.js';
import type { EventCounts, EventResult, EventType } from './event-counts.js';
import { EventFilter, tierOfMedium } from './event-filter.js';
import { readExtras } from './media.js';
import { NamespaceTable } from './namespace-table.js';
import type { BlockChange } from './relay.js';
import { type TrtllmOptions, TrtllmReader } from './trtllm-events.js';

/** Blocks that a picture holds unless told otherwise: about half a GiB. */
const DEFAULT_MAX_BLOCKS = 16_777_216;
/** Most tokens of one store; what the hasher takes. */
const MAX_STORE_TOKENS = 16_777_216;
/** Hashes of a snapshot piece unless told otherwise: 64 KiB. */
const DEFAULT_PIECE_HASHES = 8_192;

export interface RankPictureOptions {
  /** Blocks that are held at most, those that are kept out included; default 16,777,216. */
  readonly maxBlocks?: number;
  /** Different pairs of LoRA name and cache salt whose blocks are told at a time; default 65,536. */
  readonly maxNamespaces?: number;
}

export interface RankPictureModules {
  readonly hasher: BlockHasher;
  readonly counts: EventCounts;
}

/** A block size as an engine's own event tells it. */
export interface ObservedWidth {
  readonly tokensPerBlock: number;
  readonly unit: 'token' | 'bigram';
  /** The event in short: `BlockStored block_size=32 medium=GPU group_idx=0 kv_cache_spec_kind=full_attention`. */
  readonly raw: string;
}

/** What came of a batch. */
export interface AppliedBatch {
  /** In order; empty when nothing changed. */
  readonly changes: readonly BlockChange[];
  /** Wall-clock milliseconds since 1970, of the engine's clock. */
  readonly publishedAtMs?: number;
  /** Data-parallel rank that the batch itself names. */
  readonly rank?: number;
  /** Of the first store of main attention on the device; absent when there is none. */
  readonly observed?: ObservedWidth;
  /** Stores whose parent is not known: a replay may heal that. */
  readonly orphans: number;
  /** Why the payload, or a part of it, could not be read; absent when it could. */
  readonly problem?: string;
}

/** Where a store goes, once it has passed all that is asked of the event as a whole. */
interface StorePlan {
  readonly tier: Tier;
  readonly tokensPerBlock: number;
  readonly namespace: number;
  readonly seed: HashWords;
  /** Hashes of media by block; undefined when there are none. */
  readonly media: readonly (readonly HashWords[])[] | undefined;
  /** Blocks from this one on are kept out, for `hiddenWhy`. */
  readonly hiddenFrom: number;
  readonly hiddenWhy: EventResult;
}

/**
 * What one data-parallel rank of an engine holds, by its own events. It tells
 * no block that the rank may not hold, or may hold for another identity than
 * tokens, LoRA, salt and media say.
 */
export class RankPicture {
  readonly #hasher: BlockHasher;
  readonly #counts: EventCounts;
  readonly #maxBlocks: number;
  readonly #mirror: BlockMirror;
  readonly #decoder = new BatchDecoder();
  readonly #filter = new EventFilter();
  readonly #namespaces: NamespaceTable;
  readonly #writer = new ChangeWriter();
  readonly #trtllm = new TrtllmReader();
  readonly #results = new Set<EventResult>();
  #orphans = 0;
  #observed: ObservedWidth | undefined;
  #flaw: string | undefined;
  /** Blocks were kept out that a prompt may ask for; over once no block is kept out any more. */
  #lacks: string | undefined;
  /** Whether nothing was stored since the last clear. */
  #isClear = true;

  constructor(options: RankPictureOptions, modules: RankPictureModules) {
    this.#hasher = modules.hasher;
    this.#counts = modules.counts;
    this.#maxBlocks = options.maxBlocks ?? DEFAULT_MAX_BLOCKS;
    this.#mirror = new BlockMirror(this.#maxBlocks);
    this.#namespaces = new NamespaceTable(options, {
      hasher: modules.hasher,
      isUsed: (id) => this.#mirror.countIn(id) > 0,
    });
  }

  /** Blocks that are told; one in several tiers counts once. */
  get size(): number {
    return this.#mirror.size - this.#mirror.hiddenCount;
  }

  /** Why the picture can no longer be exact; undefined when nothing speaks against it. A clear mends it. */
  get flaw(): string | undefined {
    return this.#flaw ?? this.#lacks;
  }

  /** Applies one batch of an engine that speaks MessagePack. Never throws, whatever the bytes. */
  apply(payload: Uint8Array): AppliedBatch {
    return toTheEnd(this.applyInSteps(payload));
  }

  /**
   * The same in steps of bounded work, between which others may read what is held, and clear it. The changes are given
   * whole, at the end; a caller that stops before calls `return`, and clears.
   */
  *applyInSteps(payload: Uint8Array): Generator<undefined, AppliedBatch, undefined> {
    let head: BatchHead | undefined;
    try {
      head = yield* this.#decoder.decodeInSteps(payload, this.#onEvent, this.#onUnreadable);
    } finally {
      if (head === undefined) this.#takeApplied();
    }
    return { ...head, ...this.#takeApplied() };
  }

  /** Applies TensorRT-LLM's JSON events, parsed without loss; see `TrtllmReader`. Never throws. */
  applyTrtllm(events: unknown, options: TrtllmOptions = {}): AppliedBatch {
    const head = this.#trtllm.read(events, options, this.#onEvent, this.#onUnreadable);
    return { ...head, ...this.#takeApplied() };
  }

  /** Forgets everything, also what was learned of the engine. */
  clear(): void {
    this.#clearBlocks();
    this.#filter.clear();
    this.#trtllm.clear();
  }

  /**
   * Everything held now, in bounded pieces, while batches may be applied
   * between two pieces: every block that is held from the start to the end is
   * in it, some perhaps twice.
   */
  snapshot(maxHashesPerPiece: number = DEFAULT_PIECE_HASHES): {
    next(): MirrorPiece | undefined;
  } {
    return this.#mirror.pieces(maxHashesPerPiece);
  }

  readonly #onEvent = (event: EngineEvent): void => this.#applyEvent(event);

  readonly #onUnreadable = (): void => this.#distrust();

  #takeApplied(): Pick<AppliedBatch, 'changes' | 'observed' | 'orphans'> {
    const observed = this.#observed;
    const orphans = this.#orphans;
    this.#observed = undefined;
    this.#orphans = 0;
    return {
      changes: this.#writer.take(),
      orphans,
      ...(observed === undefined ? {} : { observed }),
    };
  }

  /**
   * What could not be read may have been a removal: nothing is credited rather
   * than what may be gone. What is stored from here on is known again.
   */
  #distrust(): void {
    this.#counts.countEvent('other', 'undecodable');
    if (this.#mirror.size > 0) this.#writer.cleared();
    this.#clearBlocks();
    this.#flaw = 'some of its KV events could not be read: what it held before them is unknown';
  }

  #clearBlocks(): void {
    // Clears in a row cost nothing: an engine may send a batch of nothing else.
    if (!this.#isClear) {
      this.#mirror.clear();
      this.#namespaces.clear();
      this.#isClear = true;
    }
    this.#flaw = undefined;
    this.#lacks = undefined;
  }

  #applyEvent(event: EngineEvent): void {
    this.#results.clear();
    switch (event.type) {
      case 'stored':
        this.#isClear = false;
        this.#store(event);
        break;
      case 'removed':
        this.#remove(event);
        break;
      case 'cleared':
        this.#clearAll(event);
        break;
      case 'ignored':
        this.#results.add('ignored_event');
    }
    const type: EventType = event.type === 'ignored' ? 'other' : event.type;
    for (const result of this.#results) this.#counts.countEvent(type, result);
  }

  #clearAll(event: EngineEvent): void {
    if (event.locality !== undefined && event.locality !== 'LOCAL') {
      this.#results.add('remote_locality');
      return;
    }
    this.#clearBlocks();
    this.#writer.cleared();
    this.#results.add('applied');
  }

  #store(event: EngineEvent): void {
    const tier = this.#tierOf(event);
    if (tier === undefined) return;
    if (event.hashCount === 0) this.#results.add('no_whole_block');
    else if (event.tokenCount === 0) this.#storeKnown(event, tier);
    else if (!isTokensPerBlock(event.tokensPerBlock)) this.#results.add('width_invalid');
    else {
      this.#observe(event, tier);
      if (tokensMatch(event)) this.#storeAfterParent(event, tier);
      else this.#results.add('tokens_hashes_mismatch');
    }
  }

  /** The tier of a store or removal; undefined, and counted, when it must not be applied. */
  #tierOf(event: EngineEvent): Tier | undefined {
    const tier = tierOfMedium(event.medium);
    const refusal = this.#filter.refusal(event) ?? (tier === undefined ? 'unknown_medium' : undefined);
    if (refusal === undefined) return tier;
    this.#results.add(refusal);
    return undefined;
  }

  #observe(event: EngineEvent, tier: Tier): void {
    if (this.#observed !== undefined || tier !== 'device' || event.widthAssumed) return;
    const { tokensPerBlock, bigram } = event;
    const unit = bigram ? 'bigram' : 'token';
    this.#observed = { tokensPerBlock, unit, raw: event.words ?? inShort(event) };
  }

  /** A store without tokens, as offloading connectors send it: copies of blocks that are held elsewhere. */
  #storeKnown(event: EngineEvent, tier: Tier): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const bit = tierBit(tier);
    for (let i = 0; i < hashCount; i++) {
      const at = this.#mirror.find(hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      if (at < 0) this.#results.add('tokens_hashes_mismatch');
      else if (isTokensPerBlock(tokensPerBlock) && this.#mirror.tokensPerBlock(at) !== tokensPerBlock) {
        this.#results.add('width_conflict');
      } else this.#addTier(at, tier, bit);
    }
    if (this.#results.size === 0) this.#results.add('duplicate');
  }

  #storeAfterParent(event: EngineEvent, tier: Tier): void {
    const mirror = this.#mirror;
    const first = mirror.find(event.hashes[0] ?? 0, event.hashes[1] ?? 0);
    const parent = event.hasParent ? mirror.find(event.parentLo, event.parentHi) : -1;
    const { tokensPerBlock } = event;
    if (event.hasParent && parent < 0 && first < 0) {
      this.#results.add('unknown_parent');
      // Once blocks had to be left out, parents are missing for good.
      if (this.#flaw === undefined) this.#orphans += 1;
      return;
    }
    if (parent >= 0 && mirror.hidden(parent)) {
      this.#hideFrom(0, event, tier, 'hidden_parent');
      return;
    }
    const base = event.hasParent ? (parent >= 0 ? parent : first) : -1;
    const plan = this.#planOf(event, tier, tokensPerBlock, base);
    this.#storeBlocks(event, plan, parent >= 0 ? this.#sequenceAt(parent) : undefined);
    if (this.#results.size === 0) this.#results.add('duplicate');
  }

  /** Settles the namespace: that of the event, with what the block at `base` hands down. */
  #planOf(event: EngineEvent, tier: Tier, tokensPerBlock: number, base: number): StorePlan {
    const inherited = base < 0 ? undefined : this.#namespaces.at(this.#mirror.namespace(base));
    const own = { loraName: event.loraName ?? '', cacheSalt: event.cacheSalt ?? '' };
    const loraName = own.loraName || (inherited?.loraName ?? '');
    const knownSalt = own.cacheSalt || (inherited?.cacheSalt ?? '');
    const extras = readExtras(this.#decoder.reader, event, loraName, knownSalt);
    const id = this.#namespaces.idOf(loraName, extras.cacheSalt ?? knownSalt);
    const namespace = id ?? 0;
    const shared = {
      tier,
      tokensPerBlock,
      namespace,
      seed: this.#namespaces.at(namespace)?.seed ?? { lo: 0, hi: 0 },
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
  #storeBlocks(event: EngineEvent, plan: StorePlan, parent: HashWords | undefined): void {
    const { hashes } = event;
    const { tier, tokensPerBlock, namespace } = plan;
    const tiers = tierBit(tier);
    const traits = traitsOf(tokensPerBlock, tiers, false);
    const end = Math.min(event.hashCount, plan.hiddenFrom);
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
          this.#results.add(conflict);
          return;
        }
        if (conflict !== undefined) {
          this.#hideFrom(i, event, tier, conflict);
          return;
        }
        this.#addTier(at, tier, tiers);
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
        this.#fill();
        return;
      }
      this.#writer.stored(tier, tokensPerBlock, sequenceLo, sequenceHi);
      this.#results.add('applied');
    }
    if (end < event.hashCount) this.#hideFrom(end, event, tier, plan.hiddenWhy);
  }

  #hash(
    event: EngineEvent,
    plan: StorePlan,
    start: number,
    end: number,
    parent: HashWords | undefined,
  ): DataView {
    const { tokensPerBlock } = plan;
    const last = end * tokensPerBlock + (event.bigram ? 1 : 0);
    const { sequenceHashes } = this.#hasher.hashTokens(event.tokens.subarray(start * tokensPerBlock, last), {
      tokensPerBlock,
      unit: event.bigram ? 'bigram' : 'token',
      seed: plan.seed,
      parent,
      media: plan.media?.slice(start, end),
    });
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
    this.#tellGone(at);
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

  /** Keeps the blocks of an event from the given one on out of all that is told, but remembers them. */
  #hideFrom(start: number, event: EngineEvent, tier: Tier, why: EventResult): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const mirror = this.#mirror;
    const tiers = tierBit(tier);
    const traits = traitsOf(tokensPerBlock, tiers, true);
    this.#results.add(why);
    const lack = LACKS[why];
    if (lack !== undefined) this.#lacks = lack;
    for (let i = start; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const at = mirror.find(lo, hi);
      if (at >= 0) {
        this.#tellGone(at);
        mirror.hide(at);
        mirror.setTiers(at, mirror.tiers(at) | tiers);
      } else if (!mirror.add(lo, hi, 0, 0, 0, traits)) {
        this.#fill();
        return;
      }
    }
  }

  #addTier(at: number, tier: Tier, bit: number): void {
    const mirror = this.#mirror;
    const tiers = mirror.tiers(at);
    if ((tiers & bit) !== 0) return;
    mirror.setTiers(at, tiers | bit);
    if (mirror.hidden(at)) return;
    const width = mirror.tokensPerBlock(at);
    this.#writer.stored(tier, width, mirror.sequenceLo(at), mirror.sequenceHi(at));
    this.#results.add('applied');
  }

  #remove(event: EngineEvent): void {
    const tier = this.#tierOf(event);
    if (tier === undefined) return;
    const { hashes, hashCount } = event;
    const mirror = this.#mirror;
    const asked = event.everyTier ? EVERY_TIER : tierBit(tier);
    if (hashCount === 0) this.#results.add('no_whole_block');
    for (let i = 0; i < hashCount; i++) {
      const at = mirror.find(hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      const gone = at < 0 ? 0 : mirror.tiers(at) & asked;
      if (gone === 0) {
        this.#results.add('unknown_block');
        continue;
      }
      this.#tellGone(at, gone);
      const left = mirror.tiers(at) & ~gone;
      if (left === 0) mirror.remove(at);
      else mirror.setTiers(at, left);
      this.#results.add('applied');
    }
    if (mirror.hiddenCount === 0) this.#lacks = undefined;
  }

  /** Tells that a block is gone from tiers, from all it is in unless told which. */
  #tellGone(at: number, tiers: number = this.#mirror.tiers(at)): void {
    if (this.#mirror.hidden(at)) return;
    for (const tier of TIERS) {
      if ((tiers & tierBit(tier)) === 0) continue;
      this.#writer.removed(tier, this.#mirror.sequenceLo(at), this.#mirror.sequenceHi(at));
    }
  }

  #fill(): void {
    this.#results.add('mirror_full');
    this.#flaw = `holds more than ${this.#maxBlocks} blocks`;
  }

  #sequenceAt(at: number): HashWords {
    return { lo: this.#mirror.sequenceLo(at), hi: this.#mirror.sequenceHi(at) };
  }
}

/** Why blocks that a prompt may ask for are missing, by what kept them out. */
const LACKS: Partial<Record<EventResult, string>> = {
  namespace_refused:
    'has more LoRA names and cache salts, or longer ones, than are kept: blocks are left out',
  ambiguous_salt: 'named a LoRA or cache salt for blocks that belong to another: they are left out',
  unnamed_lora: 'has blocks of LoRA adapters that its events do not name: they are left out',
};

const EVERY_TIER = (1 << TIERS.length) - 1;

/**
 * Whether the tokens are those of the hashes: all of each block, and at most
 * the start of one more. vLLM's sparse groups tell the tokens of blocks that
 * they leave out as well, so that nobody knows which hash is whose.
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

function inShort(event: EngineEvent): string {
  const fields = [
    ['block_size', event.tokensPerBlock],
    ['medium', event.medium],
    ['group_idx', event.groupIndex],
    ['kv_cache_spec_kind', event.attentionKind],
  ];
  const told = fields.filter(([, value]) => value !== undefined);
  return ['BlockStored', ...told.map(([name, value]) => `${name}=${value}`)].join(' ');
}
