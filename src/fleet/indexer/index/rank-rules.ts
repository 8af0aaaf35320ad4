import { type HitGroup, type HitRules, hitRules } from '../../../core/blocks/longest-hit.js';
import {
  type CacheGroup,
  cacheGroupFromWire,
  mainGroupOf,
} from '../../../core/contract/evidence/cache-groups.js';
import { isTokensPerBlock, MAX_TOKENS_PER_BLOCK } from '../../../core/contract/evidence/tokens-per-block.js';
import type { Contract } from '../../../gen/kvaccord/v1/capabilities.js';

/** Groups of one engine that are taken: vLLM makes a handful, of models with layers of very unequal number some ten. */
export const MAX_CACHE_GROUPS = 32;

/** Different block widths of one engine that prompts are hashed for: the models of today have up to four. */
const MAX_WIDTHS = 8;

/** What a worker's report says of how its engine finds hits. */
export interface ReportedHits {
  readonly cacheGroups: readonly CacheGroup[];
  /** Hits end on a multiple of it; undefined where it is not said. */
  readonly alignmentTokens: number | undefined;
  readonly dropsLastBlock: boolean;
  /** It decodes speculatively, and whether it drops a block for that is not said. */
  readonly mayDropLastBlock?: boolean;
}

/** How the hit of one rank is found among the blocks of its groups. */
export interface RankRules {
  readonly rules: HitRules;
  /** `CacheGroup.index` by place in the rules. */
  readonly groups: readonly number[];
  /** Block width by place. */
  readonly widths: readonly number[];
  /** Place of the main group. */
  readonly main: number;
  /** Whether no hit is longer than the leading blocks of the main group. */
  readonly isMainFull: boolean;
  /** What of it is not understood, for an operator; empty when all is. */
  readonly flaw: string;
}

/** Reads a contract; undefined when it says nothing but that there is full attention. */
export function reportedHits(contract: Contract | undefined): ReportedHits | undefined {
  if (contract === undefined) return undefined;
  const { cacheGroups, hitAlignmentTokens = 0, dropsLastHitBlock, speculativeDecoding } = contract;
  const dropsLastBlock = dropsLastHitBlock === true;
  const mayDropLastBlock = speculativeDecoding === true && dropsLastHitBlock === undefined;
  const saysNothing = cacheGroups.length === 0 && hitAlignmentTokens === 0;
  if (saysNothing && !dropsLastBlock && !mayDropLastBlock) return undefined;
  return {
    cacheGroups: cacheGroups.slice(0, MAX_CACHE_GROUPS).map(cacheGroupFromWire),
    // 0 is no alignment.
    alignmentTokens: hitAlignmentTokens === 0 ? undefined : hitAlignmentTokens,
    dropsLastBlock,
    mayDropLastBlock,
  };
}

/**
 * How hits of a rank are found: by the groups that its events have shown and
 * those that the worker's report names. Undefined for one group of full
 * attention of which every leading block counts, which needs no rules.
 * `tokensPerBlock` is the width of the main group where no group is named.
 */
export function rankRules(
  shown: readonly CacheGroup[] | undefined,
  reported: ReportedHits | undefined,
  tokensPerBlock: number,
): RankRules | undefined {
  const all = unionOf(shown ?? [], reported?.cacheGroups ?? []);
  const main = mainGroupOf(shown ?? []) ?? mainGroupOf(all) ?? plainGroup(tokensPerBlock);
  if (all.length === 0) all.push(main);
  const flaws: string[] = [];
  const known: CacheGroup[] = [];
  const widths = new Set<number>();
  for (const group of all) {
    const flaw = flawOf(group);
    if (flaw !== '') flaws.push(flaw);
    // Of the main group the leading blocks are counted, whatever it is: nothing better is known.
    if (flaw !== '' && group.index !== main.index) continue;
    widths.add(group.tokensPerBlock);
    if (widths.size <= MAX_WIDTHS) known.push(group);
    else flaws.push(`its KV cache groups have more than ${MAX_WIDTHS} different block widths`);
  }
  const mayDropLastBlock = reported?.mayDropLastBlock === true;
  // Rather a block too few is expected than one that it does not have.
  const dropsLastBlock = reported?.dropsLastBlock === true || mayDropLastBlock;
  if (mayDropLastBlock) flaws.push(UNKNOWN_DROP);
  const isPlain = known.length === 1 && isPlainGroup(known[0]) && !dropsLastBlock && flaws.length === 0;
  const alignment = reported?.alignmentTokens;
  if (isPlain && (alignment === undefined || main.tokensPerBlock % alignment === 0)) return undefined;
  const groups = known.map((group) => hitGroup(group, dropsLastBlock));
  let rules = hitRules(groups);
  if (alignment !== undefined && alignment !== rules.alignmentTokens) {
    if (groups.every((group) => alignment % group.tokensPerBlock === 0)) rules = hitRules(groups, alignment);
    else flaws.push(`its hits end on multiples of ${alignment} tokens, inside blocks of a KV cache group`);
  }
  const place = known.findIndex(({ index }) => index === main.index);
  return {
    rules,
    groups: known.map(({ index }) => index),
    widths: known.map((group) => group.tokensPerBlock),
    main: place,
    isMainFull: groups[place]?.kind === 'full_attention',
    flaw: flaws.length === 0 ? '' : `${flaws[0]}: what is predicted may be more or less than the truth`,
  };
}

/** Whether blocks of a rank that are held already mean something else with these groups. */
export function isOtherMain(
  before: readonly CacheGroup[] | undefined,
  after: readonly CacheGroup[] | undefined,
): boolean {
  const was = mainGroupOf(before ?? []);
  const is = mainGroupOf(after ?? []);
  if (was === undefined || is === undefined) return (was ?? is ?? PLAIN).kind !== 'full_attention';
  return was.index !== is.index || was.kind !== is.kind || was.tokensPerBlock !== is.tokensPerBlock;
}

const UNKNOWN_DROP =
  'it decodes speculatively, and only its /server_info (VLLM_SERVER_DEV_MODE=1) says whether a draft model takes the last block off each hit';

const PLAIN = { kind: 'full_attention' };

function plainGroup(tokensPerBlock: number): CacheGroup {
  return { index: 0, kind: 'full_attention', tokensPerBlock, engineKind: '' };
}

function isPlainGroup(group: CacheGroup | undefined): boolean {
  return group?.kind === 'full_attention';
}

/** What events have shown counts more than what was reported. In the order of the engine's numbers. */
function unionOf(shown: readonly CacheGroup[], reported: readonly CacheGroup[]): CacheGroup[] {
  const byIndex = new Map<number, CacheGroup>();
  for (const group of [...reported, ...shown]) byIndex.set(group.index, group);
  return [...byIndex.values()].sort((a, b) => a.index - b.index).slice(0, MAX_CACHE_GROUPS);
}

function flawOf({ index, kind, engineKind, tokensPerBlock, windowTokens }: CacheGroup): string {
  const name = `its KV cache group ${index}${engineKind === '' ? '' : ` (${engineKind})`}`;
  if (kind === 'other') return `${name} is of a kind that this version does not know`;
  if (!isTokensPerBlock(tokensPerBlock))
    return `${name} has blocks of ${tokensPerBlock} tokens, which is out of range (1 to ${MAX_TOKENS_PER_BLOCK})`;
  return needsWindow(kind) && (windowTokens ?? 0) < 1 ? `${name} names no window` : '';
}

function needsWindow(kind: CacheGroup['kind']): boolean {
  return kind === 'sliding_window' || kind === 'chunked_local';
}

function hitGroup({ kind, tokensPerBlock, windowTokens }: CacheGroup, dropsLastBlock: boolean): HitGroup {
  const isKnown = kind !== 'other' && (!needsWindow(kind) || (windowTokens ?? 0) >= 1);
  return {
    kind: isKnown ? kind : 'full_attention',
    tokensPerBlock: Math.min(Math.max(tokensPerBlock, 1), MAX_TOKENS_PER_BLOCK),
    dropsLastBlock,
    ...(isKnown && needsWindow(kind) && windowTokens !== undefined ? { windowTokens } : {}),
  };
}
