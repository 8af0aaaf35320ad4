import {
  type CacheGroup as WireGroup,
  CacheGroupKind as WireKind,
} from '../../../gen/kvaccord/v1/capabilities.js';

/**
 * How an engine looks for a prefix hit in one of its KV cache groups.
 * `full_attention`: all blocks from the first one on. `sliding_window`: the
 * blocks that cover the last window before the end of the hit. `chunked_local`:
 * the blocks of the chunk in which the hit ends. `state`: the block that ends
 * with the hit. `other`: not understood.
 */
export type CacheGroupKind = 'full_attention' | 'sliding_window' | 'chunked_local' | 'state' | 'other';

/** Layers that share one table of KV cache blocks. */
export interface CacheGroup {
  /** The engine's own number (`group_idx`), 0 to 2^32-1. */
  readonly index: number;
  readonly kind: CacheGroupKind;
  /** Width of this group's blocks, from 1 to 1,048,576. */
  readonly tokensPerBlock: number;
  /** Of `sliding_window` and `chunked_local`, at least 1; absent for other kinds, and where it is not known. */
  readonly windowTokens?: number;
  /** The engine's own word, such as `sliding_window_mla`; empty where it gives none. */
  readonly engineKind: string;
}

const WIRE_KINDS: Readonly<Record<CacheGroupKind, WireKind>> = {
  full_attention: WireKind.FULL_ATTENTION,
  sliding_window: WireKind.SLIDING_WINDOW,
  chunked_local: WireKind.CHUNKED_LOCAL,
  state: WireKind.STATE,
  other: WireKind.OTHER,
};

const KINDS = new Map<WireKind, CacheGroupKind>(
  Object.entries(WIRE_KINDS).map(([kind, wire]) => [wire, kind as CacheGroupKind]),
);

/** The group's form on the wire. */
export function cacheGroupToWire(group: CacheGroup): WireGroup {
  const { index, kind, tokensPerBlock, windowTokens, engineKind } = group;
  return {
    index,
    kind: WIRE_KINDS[kind],
    tokensPerBlock,
    engineKind,
    ...(windowTokens === undefined ? {} : { windowTokens }),
  };
}

/** A group as it came over the wire; a kind that this version does not know is `other`. Nothing is checked. */
export function cacheGroupFromWire(group: WireGroup): CacheGroup {
  const { index, tokensPerBlock, windowTokens, engineKind } = group;
  return {
    index,
    kind: KINDS.get(group.kind) ?? 'other',
    tokensPerBlock,
    engineKind,
    ...(windowTokens === undefined ? {} : { windowTokens }),
  };
}

/**
 * The group whose blocks are the worker's own in a cache view: the first one of
 * full attention, or where there is none the first. Undefined without groups,
 * which is a model with one group of full attention.
 */
export function mainGroupOf(groups: readonly CacheGroup[]): CacheGroup | undefined {
  return firstOf(groups.filter(({ kind }) => kind === 'full_attention')) ?? firstOf(groups);
}

/**
 * A prefix hit ends on a multiple of this many tokens: what the widths of all groups divide (vLLM,
 * `v1/core/kv_cache_utils.py`, `resolve_kv_cache_block_sizes`). Undefined where every block of the main group may end
 * one, and where it is no number of the wire.
 */
export function hitAlignmentOf(groups: readonly CacheGroup[]): number | undefined {
  const alignment = groups.reduce((all, { tokensPerBlock }) => leastCommonMultiple(all, tokensPerBlock), 1);
  const isOwn = alignment === mainGroupOf(groups)?.tokensPerBlock;
  return groups.length < 2 || isOwn || alignment > MAX_ALIGNMENT ? undefined : alignment;
}

const MAX_ALIGNMENT = 2 ** 32 - 1;

function leastCommonMultiple(one: number, other: number): number {
  let [a, b] = [one, other];
  while (b > 0) [a, b] = [b, a % b];
  return (one / a) * other;
}

function firstOf(groups: readonly CacheGroup[]): CacheGroup | undefined {
  return groups.reduce<CacheGroup | undefined>(
    (first, group) => (first === undefined || group.index < first.index ? group : first),
    undefined,
  );
}
