import { randomBytes } from 'node:crypto';

/** Randomness as a module, so that tests decide what is drawn. */
export interface Random {
  /** Evenly from 0 up to but not including 1: for jitter, never for secrets. */
  fraction(): number;
  /** 32 hexadecimal digits that nobody else draws. */
  uniqueId(): string;
}

/** The machine's randomness. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  uniqueId: () => randomBytes(16).toString('hex'),
};
