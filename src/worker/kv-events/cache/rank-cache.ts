import type { BlockHasher } from '../../../core/blocks/block-hasher.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { CacheGroup } from '../../../core/contract/evidence/cache-groups.js';
import { isTokensPerBlock } from '../../../core/contract/evidence/tokens-per-block.js';
import type { BlockChange } from '../../../core/relay/relay.js';
import { BatchDecoder, type BatchHead, toTheEnd } from '../decode/decode-batch.js';
import type { EngineEvent } from '../decode/engine-event.js';
import { tierOfMedium } from '../decode/tier-of-medium.js';
import { type TrtllmOptions, TrtllmReader } from '../decode/trtllm-events.js';
import { type BlockWriter, ChangeWriter } from '../relay/change-writer.js';
import type { CachePiece } from '../relay/relay-log.js';
import type { EventCounts, EventResult, EventType } from './event-counts.js';
import { GroupBlocks, type GroupModules } from './group-blocks.js';
import { NamespaceTable } from './namespace-table.js';
import { type ObservedWidth, observedWidth, withGroups } from './observed-width.js';
import { RankGroups } from './rank-groups.js';
import { RehashedBlocks } from './rehashed-blocks.js';
import { BlockStores } from './store-blocks.js';

/** Blocks that a cache view holds by default: about half a GiB. */
const DEFAULT_MAX_BLOCKS = 16_777_216;
/** Why hits are not exact in a model without full attention. */
const GUESSED =
  'it has no full attention, and its events do not say which blocks of a prompt it keeps, nor do its hashes: they are taken for the last ones';
/** Why nothing is announced of an engine whose hits depend on more than one group's blocks. */
const SEVERAL_GROUPS =
  'has several KV cache groups, or one of another kind than full attention, which are not re-hashed';
/** Hashes of a snapshot piece by default: 64 KiB. */
const DEFAULT_PIECE_HASHES = 8_192;

export interface RankCacheOptions {
  /** Blocks that are held at most, those that are kept out included; default 16,777,216. */
  readonly maxBlocks?: number;
  /** Different pairs of LoRA name and cache salt whose blocks are tracked at a time; default 65,536. */
  readonly maxNamespaces?: number;
  /** Tokens of the canonical blocks that are reported in place of the engine's own; absent: its own are reported. */
  readonly rehashTo?: number | undefined;
}

export interface RankCacheModules {
  readonly hasher: BlockHasher;
  /** Another one, for canonical blocks; needed with `rehashTo`. */
  readonly canonicalHasher?: BlockHasher | undefined;
  readonly counts: EventCounts;
}

/** What came of a batch. */
export interface AppliedBatch {
  /** In order; empty when nothing changed. */
  readonly changes: readonly BlockChange[];
  /** Wall-clock milliseconds since 1970, of the engine's clock. */
  readonly publishedAtMs?: number;
  /** Data-parallel rank that the batch itself names. */
  readonly rank?: number;
  /** Of the first store of the main group on the device; absent when there is none. */
  readonly observed?: ObservedWidth;
  /** Stores whose parent is not known: a replay may heal that. */
  readonly orphans: number;
  /** Why the payload, or a part of it, could not be read; absent when it could. */
  readonly problem?: string;
  /** The KV cache groups are others than before: readers get them before the changes. */
  readonly hasNewGroups?: true;
  /** Another group is the main one now: the changes clear readers and give them everything again. */
  readonly isRepeated?: true;
}

/**
 * What one data-parallel rank of an engine holds, by its own events. It reports
 * no block that the rank may not hold, or may hold for another identity than
 * tokens, LoRA, salt and media say.
 */
export class RankCache {
  readonly #counts: EventCounts;
  readonly #maxBlocks: number;
  readonly #decoder = new BatchDecoder();
  readonly #stores: BlockStores;
  readonly #groups: RankGroups;
  #isRepeated = false;
  #isGuessed = false;
  /** Tokens behind a block that its hash covers; of the last store that named them. */
  #lookaheadTokens = 0;
  /** Blocks of the engine on its device, all groups; Infinity when it is not known. */
  #capacityBlocks = Number.POSITIVE_INFINITY;
  #hasFartherTier = false;
  readonly #namespaces: NamespaceTable;
  readonly #rehashed: RehashedBlocks | undefined;
  readonly #writer: BlockWriter;
  readonly #trtllm = new TrtllmReader();
  readonly #results = new Set<EventResult>();
  #orphans = 0;
  #observed: ObservedWidth | undefined;
  #flaw: string | undefined;
  /** Blocks were kept out that a prompt may ask for; over once no block is kept out any more. */
  #lacks: string | undefined;
  /** Whether nothing was stored since the last clear. */
  #isClear = true;

  constructor(options: RankCacheOptions, modules: RankCacheModules) {
    this.#counts = modules.counts;
    this.#maxBlocks = options.maxBlocks ?? DEFAULT_MAX_BLOCKS;
    this.#namespaces = new NamespaceTable(options, {
      hasher: modules.hasher,
      isUsed: (id) => this.#groups.some((blocks) => blocks.countIn(id) > 0),
    });
    const { rehashTo } = options;
    const { canonicalHasher } = modules;
    const writer = new ChangeWriter();
    if (rehashTo !== undefined && canonicalHasher !== undefined) {
      const rehashing = { canonicalTokens: rehashTo, maxBlocks: this.#maxBlocks };
      this.#rehashed = new RehashedBlocks(rehashing, { writer, hasher: canonicalHasher });
    }
    this.#writer = this.#rehashed ?? writer;
    const shared: GroupModules = {
      hasher: modules.hasher,
      writer: this.#writer,
      rehashed: this.#rehashed,
      namespaces: this.#namespaces,
      reader: this.#decoder.reader,
      results: this.#results,
      onOrphan: () => {
        // Once blocks had to be left out, parents are missing for good.
        if (this.#flaw === undefined) this.#orphans += 1;
      },
      onLack: (reason) => {
        this.#lacks = reason;
      },
      onGuess: () => {
        this.#isGuessed = true;
      },
      onFull: () => this.#fill(),
    };
    this.#stores = new BlockStores(shared);
    this.#groups = new RankGroups({
      makeBlocks: () => new GroupBlocks(this.#maxBlocks, shared),
      onOtherMain: () => this.#repeat(),
    });
  }

  /** Blocks that readers know of, all groups; one in several tiers, or copies of one, count once. */
  get size(): number {
    return this.#rehashed?.size ?? this.#groups.sum((blocks) => blocks.size - blocks.hiddenCount);
  }

  /** By index; empty while the rank has shown one group of full attention alone. */
  get cacheGroups(): readonly CacheGroup[] {
    // Nothing is reported of an engine with several groups while blocks are re-hashed.
    return this.#rehashed === undefined ? this.#groups.settled : [];
  }

  /** Why hits among the blocks cannot be predicted exactly; undefined when nothing speaks against it. */
  get approximation(): string | undefined {
    if (this.#lookaheadTokens > 1)
      return `its block hashes cover the ${this.#lookaheadTokens} tokens behind a block as well (MTP with several modules), which is not followed`;
    return this.#groups.doubt ?? (this.#isGuessed ? GUESSED : undefined);
  }

  /**
   * Blocks that fit on the engine's device, all groups together; undefined when it is not known. An engine that
   * announces more copies than that does not announce each copy's end: from then on each block counts once.
   */
  setCapacity(blocks: number | undefined): void {
    this.#capacityBlocks = blocks ?? Number.POSITIVE_INFINITY;
  }

  /** Why the cache view can no longer be exact; undefined when nothing speaks against it. A clear of all blocks ends that. */
  get flaw(): string | undefined {
    return this.#flaw ?? this.#lacks ?? this.#rehashed?.lack;
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
    this.#rehashed?.forget();
    this.#groups.clear();
    this.#trtllm.clear();
  }

  /**
   * Everything held now, in bounded pieces, while batches may be applied
   * between two pieces: every block that is held from the start to the end is
   * in it, some perhaps twice.
   */
  snapshot(maxHashesPerPiece: number = DEFAULT_PIECE_HASHES): {
    next(): CachePiece | undefined;
  } {
    if (this.#rehashed !== undefined) return this.#rehashed.pieces(maxHashesPerPiece);
    return this.#groups.pieces(maxHashesPerPiece);
  }

  readonly #onEvent = (event: EngineEvent): void => this.#applyEvent(event);

  readonly #onUnreadable = (): void => this.#distrust();

  #takeApplied(): Omit<AppliedBatch, 'publishedAtMs' | 'rank' | 'problem'> {
    const hasNewGroups = this.#groups.endBatch();
    const { settled } = this.#groups;
    if (settled.length > 0) this.#rehashed?.refuse(SEVERAL_GROUPS);
    this.#checkCopies();
    const observed = this.#observed;
    const orphans = this.#orphans;
    const isRepeated = this.#isRepeated;
    this.#observed = undefined;
    this.#orphans = 0;
    this.#isRepeated = false;
    return {
      changes: this.#writer.take(),
      orphans,
      ...(observed === undefined ? {} : { observed: withGroups(observed, settled) }),
      ...(hasNewGroups ? { hasNewGroups } : {}),
      ...(isRepeated ? { isRepeated } : {}),
    };
  }

  #repeat(): void {
    this.#isRepeated = true;
    this.#writer.cleared();
    const pieces = this.snapshot();
    for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) this.#writer.piece(piece);
  }

  #checkCopies(): void {
    if (this.#hasFartherTier || this.#capacityBlocks === Number.POSITIVE_INFINITY) return;
    const copies = this.#groups.sum(({ copyCount }) => copyCount);
    if (copies === 0 || copies + this.#groups.sum(({ size }) => size) <= this.#capacityBlocks) return;
    this.#groups.each((blocks) => blocks.ignoreCopies());
    this.#flaw = `announces more copies of blocks than the ${this.#capacityBlocks} blocks that it has`;
  }

  /**
   * What could not be read may have been a removal: nothing is credited rather
   * than what may be gone. What is stored from here on is known again.
   */
  #distrust(): void {
    this.#counts.countEvent('other', 'undecodable');
    if (this.#groups.some(({ size }) => size > 0)) this.#writer.cleared();
    this.#decoder.dropDeferred();
    this.#clearBlocks();
    this.#flaw = 'some of its KV events could not be read: what it held before them is unknown';
  }

  #clearBlocks(): void {
    // Clears in a row cost nothing: an engine may send a batch of nothing else.
    if (!this.#isClear) {
      this.#groups.each((blocks) => blocks.clear());
      this.#namespaces.clear();
      this.#rehashed?.clear();
      this.#isClear = true;
      this.#isGuessed = false;
    }
    this.#flaw = undefined;
    this.#lacks = undefined;
  }

  #applyEvent(event: EngineEvent): void {
    this.#results.clear();
    switch (event.type) {
      case 'stored':
      case 'removed':
        if (this.#change(event)) break;
        this.#decoder.defer();
        return;
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
    this.#decoder.dropDeferred();
    this.#groups.dropDeferred();
    this.#clearBlocks();
    this.#writer.cleared();
    this.#results.add('applied');
  }

  /** Applies a store or removal; false when it has to wait for the others of its batch. */
  #change(event: EngineEvent): boolean {
    const tier = tierOfMedium(event.medium);
    const refusal = this.#refusal(event) ?? (tier === undefined ? 'unknown_medium' : undefined);
    const blocks = refusal === undefined ? this.#groups.blocksOf(event) : this.#groups.main;
    if (blocks === undefined) return false;
    if (refusal !== undefined || tier === undefined) this.#results.add(refusal ?? 'unknown_medium');
    else if (event.hashCount === 0 && event.type === 'removed') this.#results.add('no_whole_block');
    else if (event.type === 'removed') this.#remove(event, tier, blocks);
    else this.#store(event, tier, blocks);
    return true;
  }

  #refusal(event: EngineEvent): EventResult | undefined {
    if (event.locality !== undefined && event.locality !== 'LOCAL') return 'remote_locality';
    return this.#groups.read(event);
  }

  #store(event: EngineEvent, tier: Tier, blocks: GroupBlocks): void {
    this.#isClear = false;
    if (event.lookaheadTokens > 0) this.#lookaheadTokens = event.lookaheadTokens;
    if (tier !== 'device') this.#hasFartherTier = true;
    const isSparse = this.#groups.isSparse(blocks);
    if (event.hashCount === 0 && !isSparse) this.#results.add('no_whole_block');
    else if (this.#groups.hasOthers && this.#isFull(event)) this.#fill();
    else if (event.tokenCount === 0 && event.hashCount > 0) blocks.storeKnown(event, tier);
    else if (event.tokenCount === 0) this.#results.add('no_whole_block');
    else if (!isTokensPerBlock(event.tokensPerBlock)) this.#results.add('width_invalid');
    else {
      this.#observe(event, tier);
      if (blocks !== this.#groups.main) this.#stores.storeBeside(blocks, this.#groups.main, event, tier);
      else if (isSparse) this.#stores.storeSparse(blocks, event, tier);
      else this.#stores.store(blocks, event, tier);
    }
  }

  #isFull({ hashCount }: EngineEvent): boolean {
    return this.#groups.sum(({ size }) => size) + hashCount > this.#maxBlocks;
  }

  #observe(event: EngineEvent, tier: Tier): void {
    if (this.#observed !== undefined || tier !== 'device' || event.widthAssumed) return;
    this.#observed = observedWidth(event);
  }

  #remove(event: EngineEvent, tier: Tier, blocks: GroupBlocks): void {
    blocks.remove(event, tier);
    if (this.#lacks !== undefined && this.#groups.sum(({ hiddenCount }) => hiddenCount) === 0)
      this.#lacks = undefined;
  }

  #fill(): void {
    this.#results.add('mirror_full');
    this.#flaw = `holds more than ${this.#maxBlocks} blocks`;
  }
}
