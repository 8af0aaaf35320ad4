import type { CacheGroup } from '../../../core/contract/evidence/cache-groups.js';
import type { EngineEvent } from '../decode/engine-event.js';
import type { CachePiece } from '../relay/relay-log.js';
import { CacheGroupTable } from './cache-group-table.js';
import type { EventResult } from './event-counts.js';
import type { GroupBlocks } from './group-blocks.js';

export interface RankGroupsModules {
  readonly makeBlocks: () => GroupBlocks;
  /** Another group is the main one now: readers know the blocks that are held by other names. */
  readonly onOtherMain: () => void;
}

/** The KV cache groups of one rank, by its events, and the blocks of each. */
export class RankGroups {
  readonly #modules: RankGroupsModules;
  readonly #table = new CacheGroupTable();
  #main: GroupBlocks;
  #mainIndex = 0;
  /** Blocks of the other groups, by index. */
  readonly #others = new Map<number, GroupBlocks>();
  #settled: readonly CacheGroup[] = [];
  #hasNew = false;
  #hasDeferred = false;

  constructor(modules: RankGroupsModules) {
    this.#modules = modules;
    this.#main = modules.makeBlocks();
  }

  /** Blocks of the main group. */
  get main(): GroupBlocks {
    return this.#main;
  }

  get hasOthers(): boolean {
    return this.#others.size > 0;
  }

  /**
   * The groups by which blocks are sorted now, by index; those that a batch shows count from its end on. Empty while the rank
   * has shown one group of full attention alone.
   */
  get settled(): readonly CacheGroup[] {
    return this.#settled;
  }

  /** Why hits depend on more than is known of the groups; undefined when nothing speaks against it. */
  get doubt(): string | undefined {
    return this.#table.doubt;
  }

  /** Whether these are blocks of a main group that keeps only some of a prompt. */
  isSparse(blocks: GroupBlocks): boolean {
    return this.#table.isSparse && blocks === this.#main;
  }

  /** Takes what an event says of its group; why the event does not count, undefined when it does. */
  read(event: EngineEvent): EventResult | undefined {
    return this.#table.read(event);
  }

  /**
   * Where the blocks of an event are. Undefined when that shows only at the end of the batch: an engine announces its
   * groups one after the other, and what the main one says of a block names it in the others. A removal from the main
   * group waits as soon as others do, so that they still find the block.
   */
  blocksOf(event: EngineEvent): GroupBlocks | undefined {
    const table = this.#table;
    const isOrderKnown = table.groups.length === 0 || table.hasFullAttention;
    if (isOrderKnown || event.isDeferred) this.#settle();
    if (table.groups.length === 0) return this.#main;
    const index = event.groupIndex ?? 0;
    const isMain = index === this.#mainIndex;
    const isInOrder = !this.#hasDeferred || (event.type === 'stored' && isOrderKnown);
    const isFirst = isMain && isInOrder && (isOrderKnown || table.groups === this.#settled);
    if (!isFirst && !event.isDeferred) {
      this.#hasDeferred = true;
      return undefined;
    }
    if (isMain) return this.#main;
    const known = this.#others.get(index);
    if (known !== undefined) return known;
    const blocks = this.#modules.makeBlocks();
    blocks.label = index;
    this.#others.set(index, blocks);
    return blocks;
  }

  /** No event waits for the end of its batch any more. */
  dropDeferred(): void {
    this.#hasDeferred = false;
  }

  /** Settles the groups at the end of a batch; whether they are others than before it. */
  endBatch(): boolean {
    this.#settle();
    const hasNew = this.#hasNew;
    this.#hasNew = false;
    this.#hasDeferred = false;
    return hasNew;
  }

  /** Sorts what is held by the groups that were seen: another one may be the main one now. */
  #settle(): void {
    const { groups, mainIndex } = this.#table;
    if (groups === this.#settled && mainIndex === this.#mainIndex) return;
    this.#hasNew ||= groups !== this.#settled;
    this.#settled = groups;
    if (mainIndex === this.#mainIndex) return;
    const before = this.#main;
    const next = this.#others.get(mainIndex) ?? this.#modules.makeBlocks();
    this.#others.delete(mainIndex);
    if (before.size > 0) {
      before.label = this.#mainIndex;
      this.#others.set(this.#mainIndex, before);
    }
    next.label = undefined;
    this.#main = next;
    this.#mainIndex = mainIndex;
    if (before.size > 0 || next.size > 0) this.#modules.onOtherMain();
  }

  each(visit: (blocks: GroupBlocks) => void): void {
    visit(this.#main);
    for (const blocks of this.#others.values()) visit(blocks);
  }

  sum(count: (blocks: GroupBlocks) => number): number {
    let sum = count(this.#main);
    for (const blocks of this.#others.values()) sum += count(blocks);
    return sum;
  }

  some(test: (blocks: GroupBlocks) => boolean): boolean {
    return test(this.#main) || [...this.#others.values()].some(test);
  }

  /** All that is held and not kept out, group by group; see `mirrorPieces`. */
  pieces(maxHashes: number): { next(): CachePiece | undefined } {
    const left = [this.#main, ...this.#others.values()];
    let pieces: { next(): CachePiece | undefined } | undefined;
    return {
      next: () => {
        for (;;) {
          const [blocks] = left;
          if (blocks === undefined) return undefined;
          pieces ??= blocks.pieces(maxHashes);
          const piece = pieces.next();
          if (piece !== undefined)
            return blocks.label === undefined ? piece : { ...piece, group: blocks.label };
          pieces = undefined;
          left.shift();
        }
      },
    };
  }

  /** Forgets the groups, and drops all blocks. */
  clear(): void {
    this.#table.clear();
    this.#settled = [];
    this.#others.clear();
    this.#main = this.#modules.makeBlocks();
    this.#mainIndex = 0;
  }
}
