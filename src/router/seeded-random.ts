const GOLDEN_GAMMA = 0x9e37_79b9;
const WORDS = 2 ** 32;

/**
 * Draws evenly from 0 up to but not including 1, the same draws for the same
 * seed: SplitMix32, whose 2^32 states are plenty for choices among workers.
 */
export function seededFraction(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + GOLDEN_GAMMA) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / WORDS;
  };
}
