import type { BlockHasher } from '../../../core/blocks/block-hasher.js';
import { BlockMirror, tierBit, traitsOf } from '../../../core/blocks/block-mirror.js';
import { type MirrorPiece, mirrorPieces } from '../../../core/blocks/mirror-pieces.js';
import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import { TIERS, type Tier } from '../../../core/blocks/tier.js';
import { isTokensPerBlock } from '../../../core/contract/evidence/tokens-per-block.js';
import type { EngineEvent } from '../decode/engine-event.js';
import type { MsgpackReader } from '../decode/msgpack-reader.js';
import type { BlockWriter } from '../relay/change-writer.js';
import type { EventResult } from './event-counts.js';
import type { NamespaceTable } from './namespace-table.js';
import type { RehashedBlocks } from './rehashed-blocks.js';
import type { SparsePlaces } from './sparse-places.js';

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

/** Blocks of one KV cache group, the tiers that they are in, and what readers are given of them; `BlockStores` adds to them. */
export class GroupBlocks {
  readonly #shared: GroupModules;
  readonly mirror: BlockMirror;
  /** Made when the first sparse store comes: few models need it. */
  places: SparsePlaces | undefined;
  /** `CacheGroup.index` for readers; undefined while it is the main group. */
  label: number | undefined;
  /** Each copy of a block that the engine holds is announced, when it comes and when it goes. */
  countsCopies = true;

  constructor(maxBlocks: number, modules: GroupModules) {
    this.#shared = modules;
    this.mirror = new BlockMirror(maxBlocks);
  }

  /** Blocks held, those included that are kept out. */
  get size(): number {
    return this.mirror.size;
  }

  /** Blocks that are kept out. */
  get hiddenCount(): number {
    return this.mirror.hiddenCount;
  }

  /** Copies beyond the first of a block in a tier. */
  get copyCount(): number {
    return this.mirror.copyCount;
  }

  /** How many blocks are in a namespace. */
  countIn(namespace: number): number {
    return this.mirror.countIn(namespace);
  }

  clear(): void {
    this.mirror.clear();
    this.places?.clear();
  }

  /** From now on a block counts once in a tier, however often it was stored. */
  ignoreCopies(): void {
    this.countsCopies = false;
    this.mirror.forgetCopies();
  }

  /** All that is held and not kept out; see `mirrorPieces`. */
  pieces(maxHashes: number): { next(): MirrorPiece | undefined } {
    return mirrorPieces(this.mirror, maxHashes);
  }

  /** Counts why blocks are kept out. */
  leaveOut(why: EventResult): void {
    this.#shared.results.add(why);
    const lack = LACKS[why];
    if (lack !== undefined) this.#shared.onLack(lack);
  }

  /** A store without tokens, as offloading connectors send it: copies of blocks that are held elsewhere. */
  storeKnown(event: EngineEvent, tier: Tier): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    for (let i = 0; i < hashCount; i++) {
      const at = this.mirror.find(hashes[2 * i] ?? 0, hashes[2 * i + 1] ?? 0);
      if (at < 0) this.#shared.results.add('tokens_hashes_mismatch');
      else if (isTokensPerBlock(tokensPerBlock) && this.mirror.tokensPerBlock(at) !== tokensPerBlock) {
        this.#shared.results.add('width_conflict');
      } else this.addTier(at, tier, false);
    }
    if (this.#shared.results.size === 0) this.#shared.results.add('duplicate');
  }

  /** Keeps the blocks of an event from the given one on out of all that is reported, but remembers them. */
  hideFrom(start: number, event: EngineEvent, tier: Tier, why: EventResult): void {
    const { hashes, hashCount, tokensPerBlock } = event;
    const mirror = this.mirror;
    const tiers = tierBit(tier);
    const traits = traitsOf(tokensPerBlock, tiers, true);
    this.leaveOut(why);
    for (let i = start; i < hashCount; i++) {
      const lo = hashes[2 * i] ?? 0;
      const hi = hashes[2 * i + 1] ?? 0;
      const at = mirror.find(lo, hi);
      if (at >= 0) {
        this.reportGone(at);
        mirror.hide(at);
        this.addTier(at, tier, countable(event));
      } else if (!mirror.add(lo, hi, 0, 0, 0, traits)) {
        this.#shared.onFull();
        return;
      }
    }
  }

  /** Where the block is in the tier already, the engine has one more copy of it. */
  addTier(at: number, tier: Tier, isCopy: boolean): void {
    const mirror = this.mirror;
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
    const mirror = this.mirror;
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
      this.reportGone(at, gone);
      const left = mirror.tiers(at) & ~gone;
      if (left === 0) mirror.remove(at);
      else mirror.setTiers(at, left);
      results.add('applied');
    }
  }

  /** Reports that a block is gone from tiers: from all it is in unless some are named. */
  reportGone(at: number, tiers: number = this.mirror.tiers(at)): void {
    if (this.mirror.hidden(at)) return;
    for (const tier of TIERS) {
      if ((tiers & tierBit(tier)) === 0) continue;
      const { writer } = this.#shared;
      writer.removed(tier, this.mirror.sequenceLo(at), this.mirror.sequenceHi(at), this.label);
    }
  }

  /** The sequence hash of the block at a place. */
  sequenceAt(at: number): HashHalves {
    return { lo: this.mirror.sequenceLo(at), hi: this.mirror.sequenceHi(at) };
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

/** Whether a store announces a copy of its own (see `GroupBlocks.countsCopies`): of engines only vLLM names the kind. */
export function countable(event: EngineEvent): boolean {
  return event.attentionKind !== undefined;
}
