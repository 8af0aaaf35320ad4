import { randomBytes } from 'node:crypto';

/** Randomness as a module, so that tests decide what is drawn. */
export interface Random {
  /** Evenly from 0 up to but not including 1: for jitter, never for secrets. */
  fraction(): number;
  /** 32 hexadecimal digits, different each time. */
  uniqueId(): string;
}

/** The machine's randomness. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  uniqueId: () => randomBytes(16).toString('hex'),
};

/** Evenly from 0 up to but not including 1, the same sequence for the same seed (mulberry32). */
export function seededRandom(seed: number): Pick<Random, 'fraction'> {
  let state = seed >>> 0;
  return {
    fraction: () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
