import type { Origin } from '../evidence.js';

/** One line of an arithmetic that a person can check: `2 x 32 layers x 8 KV heads x 128 x 2 bytes`. */
export interface Step {
  readonly says: string;
  /** The expression with its numbers. */
  readonly expression: string;
  readonly value: number;
  readonly unit: 'bytes' | 'tokens' | 'blocks' | 'seconds' | 'sequences';
  readonly origins: readonly Origin[];
}

/** What memory allows for one worker. */
export interface MemoryArithmetic {
  readonly who: string;
  /** On each GPU, unless `isOverAllGpus`; undefined where the format of the cache is not known. */
  readonly bytesPerToken: number | undefined;
  /** Why the bytes of a token are not known; undefined where they are. */
  readonly bytesUnknown: string | undefined;
  readonly bytesPerBlock: number | undefined;
  /** Bytes for KV blocks on one GPU. */
  readonly budgetBytes: number | undefined;
  readonly capacityTokens: number | undefined;
  /** Tokens of all sequences that run at a time, at their longest. */
  readonly demandTokens: number | undefined;
  /** Seconds for which a prefix that nobody uses stays. */
  readonly retentionSeconds: number | undefined;
  /** Most sequences that leave half of the cache for prefixes. */
  readonly largestBatch: number | undefined;
  /** True where it was not seen how many GPUs the worker has: bytes of tokens and blocks are those of all together. */
  readonly isOverAllGpus: boolean;
  /** Why the capacity is not known, and what would show it; undefined where it is. */
  readonly capacityUnknown: string | undefined;
  readonly steps: readonly Step[];
}
