import { CACHE_VIEWS, type CacheView } from '../../../core/contract/wire/cache-view.js';
import type { RankStatus } from '../../../core/relay/relay.js';
import { MAX_CACHE_GROUPS, type RankRules } from './rank-rules.js';

/** How much is known of what a worker holds, and why not more. */
export interface ReasonedCacheView {
  readonly level: CacheView;
  /** For an operator; empty when the cache view is exact. */
  readonly reason: string;
}

/** What an index keeps of one rank. */
export interface Rank {
  readonly rank: number;
  /** Of its main group; undefined while that holds nothing. */
  holder: number | undefined;
  /** Of its other KV cache groups, by `CacheGroup.index`. */
  readonly groupHolders: Map<number, number>;
  /** How its hits are found; undefined where every leading block counts. */
  rules: RankRules | undefined;
  /** What the source last said of it; undefined before it said something. */
  status: RankStatus | undefined;
}

/** How much is known of one rank: its blocks as its source says, its hits as far as its groups are understood. */
export function cacheViewOf({ status, rules, groupHolders }: Rank): ReasonedCacheView {
  if (status === undefined) return { level: 'none', reason: 'its state was not reported' };
  const unnamed = [...groupHolders.keys()].find((group) => rules?.groups.includes(group) !== true);
  const flaw =
    rules === undefined || rules.flaw === ''
      ? unnamed === undefined
        ? ''
        : unnamedMessage(unnamed)
      : rules.flaw;
  const { picture: level, reason } = status;
  if (flaw === '' || CACHE_VIEWS.indexOf(level) >= CACHE_VIEWS.indexOf('approximate'))
    return { level, reason };
  return { level: 'approximate', reason: flaw };
}

function unnamedMessage(group: number): string {
  return `its KV events have blocks of KV cache group ${group}, and do not say what that is: what is predicted may be more than the truth`;
}

/** Why blocks of a group cannot be applied; empty when they can. */
export function groupFlaw({ status, groupHolders }: Rank, group: number, tokensPerBlock: number): string {
  const described = status?.cacheGroups?.find(({ index }) => index === group);
  if (described !== undefined && described.tokensPerBlock !== tokensPerBlock)
    return `its KV cache group ${group} has blocks of ${described.tokensPerBlock} tokens, and some came with ${tokensPerBlock}: they are not applied`;
  const isFull = !groupHolders.has(group) && groupHolders.size >= MAX_CACHE_GROUPS;
  return isFull
    ? `it has more than ${MAX_CACHE_GROUPS} KV cache groups: the blocks of further ones are not applied`
    : '';
}

/** Every number under which it is in the index. */
export function holdersOf({ holder, groupHolders }: Rank): number[] {
  return [...(holder === undefined ? [] : [holder]), ...groupHolders.values()];
}
