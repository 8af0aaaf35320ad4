import type { HitQuestion } from './longest-hit.js';

/** One table of a case, as data, so that it can be sent to another process. */
export interface DrawnTable {
  readonly kind: 'full' | 'sliding' | 'chunked' | 'state';
  readonly tokensPerBlock: number;
  /** Of sliding and chunked tables. */
  readonly windowTokens?: number;
  /** Numbers of the prompt's blocks that are there, ascending. */
  readonly held: readonly number[];
  readonly computesLastAgain?: boolean;
}

/** A prompt, and what an engine holds of it. */
export interface DrawnHit {
  readonly tables: readonly DrawnTable[];
  readonly promptTokens: number;
}

const WIDTHS = [1, 2, 3, 4, 8, 16];
const KINDS = ['full', 'sliding', 'chunked', 'state'] as const;
const MAX_TABLES = 4;
const MAX_BLOCKS = 24;

/**
 * Draws cases for ever, the same ones for the same seed. With EAGLE, in a third of them, are tables as models with a
 * draft have them: one, or one of full attention and another of the same width.
 */
export function* randomHits(seed: number): Generator<DrawnHit> {
  const below = numbersBelow(seed);
  for (;;) {
    const widest = WIDTHS[below(WIDTHS.length)] as number;
    const promptTokens = 1 + below(widest * MAX_BLOCKS);
    const computesLastAgain = below(3) === 0;
    // Half of the others have one width, as most models do.
    const isUniform = computesLastAgain || below(2) === 0;
    const tables = Array.from({ length: 1 + below(computesLastAgain ? 2 : MAX_TABLES) }, (_, i) => {
      const kind = computesLastAgain && i === 1 ? 'full' : (KINDS[below(KINDS.length)] as DrawnTable['kind']);
      const tokensPerBlock = isUniform ? widest : (WIDTHS[below(WIDTHS.length)] as number);
      return {
        kind,
        tokensPerBlock,
        ...(kind === 'sliding' ? { windowTokens: 2 + below(6 * tokensPerBlock) } : {}),
        // A chunk begins where a block does.
        ...(kind === 'chunked' ? { windowTokens: (1 + below(6)) * tokensPerBlock } : {}),
        held: drawHeld(Math.floor(promptTokens / tokensPerBlock), below),
        ...(computesLastAgain ? { computesLastAgain } : {}),
      };
    });
    yield { tables, promptTokens };
  }
}

/** The question that a case is, for `longestHitTokens`. */
export function questionOf({ tables, promptTokens }: DrawnHit): HitQuestion {
  return {
    promptTokens,
    tables: tables.map(({ held, ...table }) => {
      const there = new Set(held);
      return { ...table, holds: (block) => there.has(block) };
    }),
  };
}

/** All of the first blocks, those of the end, or any, with some taken away. */
function drawHeld(blocks: number, below: (limit: number) => number): number[] {
  const from = below(3) === 0 ? below(blocks + 1) : 0;
  const to = below(3) === 0 ? below(blocks + 1) : blocks;
  const oneMissingIn = [1, 2, 5, 20, 1_000][below(5)] as number;
  const held: number[] = [];
  for (let block = from; block < to; block += 1) {
    if (oneMissingIn === 1 ? below(3) === 0 : below(oneMissingIn) !== 0) held.push(block);
  }
  return held;
}

/** Pseudo-random integers from 0 to below the limit: Marsaglia's xorshift of 32 bits. */
function numbersBelow(seed: number): (limit: number) => number {
  let state = seed | 0 || 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}
