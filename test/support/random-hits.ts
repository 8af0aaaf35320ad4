import { seededRandom } from '../../src/edge/platform/random.js';
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
  /** Hits end on a multiple of it; without it, on a multiple of every table's width. */
  readonly alignmentTokens?: number;
}

const WIDTHS = [1, 2, 3, 4, 8, 16];
const KINDS = ['chunked', 'full', 'sliding', 'state'] as const;
const MAX_TABLES = 4;
const MAX_BLOCKS = 24;

/** In which tables EAGLE may be; see `randomHits`. */
export interface DrawOptions {
  /**
   * `usual` (the default): in a third of the cases, in every table, and then there is one table, or one of full
   * attention and another of the same width, as models with a draft have them. `any`: in any table of any case.
   */
  readonly eagle?: 'usual' | 'any';
}

/** Draws cases for ever, the same ones for the same seed. */
export function* randomHits(seed: number, { eagle = 'usual' }: DrawOptions = {}): Generator<DrawnHit> {
  const { fraction } = seededRandom(seed);
  const below = (limit: number): number => Math.floor(fraction() * limit);
  for (;;) {
    const widest = WIDTHS[below(WIDTHS.length)] as number;
    const promptTokens = 1 + below(widest * MAX_BLOCKS);
    const hasEagle = below(3) === 0;
    const isUsual = hasEagle && eagle === 'usual';
    // Half of the others have one width, as most models do.
    const isUniform = isUsual || below(2) === 0;
    const tables = Array.from({ length: 1 + below(isUsual ? 2 : MAX_TABLES) }, (_, i): DrawnTable => {
      // vLLM has no chunked attention beside blocks of another width, and none with EAGLE.
      const kinds = isUniform && !hasEagle ? KINDS : KINDS.slice(1);
      const kind = isUsual && i === 1 ? 'full' : (kinds[below(kinds.length)] as DrawnTable['kind']);
      const tokensPerBlock = isUniform ? widest : (WIDTHS[below(WIDTHS.length)] as number);
      return {
        kind,
        tokensPerBlock,
        ...(kind === 'sliding' ? { windowTokens: 2 + below(6 * tokensPerBlock) } : {}),
        // A chunk begins where a block does.
        ...(kind === 'chunked' ? { windowTokens: (1 + below(6)) * tokensPerBlock } : {}),
        held: drawHeld(Math.floor(promptTokens / tokensPerBlock), below),
        ...(isUsual || (hasEagle && below(2) === 0) ? { computesLastAgain: true } : {}),
      };
    });
    yield { tables, promptTokens };
  }
}

/** The question that a case is, for `longestHitTokens`. */
export function questionOf({ tables, ...asked }: DrawnHit): HitQuestion {
  return {
    ...asked,
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
