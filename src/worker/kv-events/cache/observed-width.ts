import { type CacheGroup, mainGroupOf } from '../../../core/contract/evidence/cache-groups.js';
import type { EngineEvent } from '../decode/engine-event.js';

/** A block size as an engine's own event has it. */
export interface ObservedWidth {
  readonly tokensPerBlock: number;
  readonly unit: 'token' | 'bigram';
  /** The engine's hashes cover tokens behind a block, so that it keeps the last block of a hit; absent where it did not say so. */
  readonly looksAhead?: true;
  /** The event in short: `BlockStored block_size=32 medium=GPU group_idx=0 kv_cache_spec_kind=full_attention`. */
  readonly raw: string;
  /** The KV cache groups, where the rank has others than one of full attention; the width is then that of the main one. */
  readonly groups?: readonly CacheGroup[];
}

/** The block size of a store. */
export function observedWidth(event: EngineEvent): ObservedWidth {
  const { tokensPerBlock, bigram, lookaheadTokens } = event;
  return {
    tokensPerBlock,
    unit: bigram ? 'bigram' : 'token',
    ...(lookaheadTokens > 0 ? { looksAhead: true } : {}),
    raw: event.words ?? inShort(event),
  };
}

/** The same, of a rank that has these groups: that of the main one. */
export function withGroups(observed: ObservedWidth, groups: readonly CacheGroup[]): ObservedWidth {
  const main = mainGroupOf(groups);
  if (main === undefined) return observed;
  return { ...observed, tokensPerBlock: main.tokensPerBlock, raw: groupsInShort(groups), groups };
}

function inShort(event: EngineEvent): string {
  const fields = [
    ['block_size', event.tokensPerBlock],
    ['medium', event.medium],
    ['group_idx', event.groupIndex],
    ['kv_cache_spec_kind', event.attentionKind],
    ['lookahead_tokens', event.lookaheadTokens > 0 ? event.lookaheadTokens : undefined],
  ];
  const named = fields.filter(([, value]) => value !== undefined);
  return ['BlockStored', ...named.map(([name, value]) => `${name}=${value}`)].join(' ');
}

/** `group_idx=0 kv_cache_spec_kind=sliding_window kv_cache_spec_sliding_window=128 block_size=32; …`. */
function groupsInShort(groups: readonly CacheGroup[]): string {
  const each = groups.map(({ index, engineKind, windowTokens, tokensPerBlock }) => {
    const window = windowTokens === undefined ? '' : ` kv_cache_spec_sliding_window=${windowTokens}`;
    return `group_idx=${index} kv_cache_spec_kind=${engineKind}${window} block_size=${tokensPerBlock}`;
  });
  return `BlockStored ${each.join('; ')}`;
}
