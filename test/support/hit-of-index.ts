import { type HitGroup, type HitKind, hitRules, longestHit } from '../../src/core/blocks/longest-hit.js';
import type { DrawnHit, DrawnTable } from './random-hits.js';

const KINDS: Readonly<Record<DrawnTable['kind'], HitKind>> = {
  full: 'full_attention',
  sliding: 'sliding_window',
  chunked: 'chunked_local',
  state: 'state',
};

/** The hit that the index finds in a drawn case. */
export function hitOfIndex({ tables, promptTokens, alignmentTokens }: DrawnHit): number {
  const groups = tables.map(
    ({ kind, tokensPerBlock, windowTokens, computesLastAgain = false }): HitGroup => ({
      kind: KINDS[kind],
      tokensPerBlock,
      dropsLastBlock: computesLastAgain,
      ...(windowTokens === undefined ? {} : { windowTokens }),
    }),
  );
  const held = tables.map((table) => new Set(table.held));
  return longestHit(
    hitRules(groups, alignmentTokens),
    (group, block) => held[group]?.has(block) === true,
    promptTokens,
  );
}
