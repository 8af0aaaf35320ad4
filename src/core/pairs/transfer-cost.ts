import type { PairClass } from './pair-words.js';

/** One transfer that came to its end. */
export interface FinishedTransfer {
  readonly sizeBytes: number;
  readonly durationMs: number;
}

/** What transfers of one pair took. */
export interface TransferCost {
  readonly millisecondsPerMebibyte: number;
  /** Transfers that were measured. */
  readonly transfers: number;
}

const BYTES_PER_MEBIBYTE = 1_048_576;

/** Transfers after which one counts half: what a network does now outranks what it did. */
const HALF_LIFE_TRANSFERS = 16;
const KEPT_SHARE = 0.5 ** (1 / HALF_LIFE_TRANSFERS);

/** A transfer below this is mostly latency, and says nothing of a link's rate. */
const MIN_MEASURED_BYTES = 65_536;

/** Transfers before a pair is said to be slow. */
const MIN_TRANSFERS_TO_WARN = 50;

/** A pair below this share of its class's rate is slow by far. */
const SLOW_SHARE = 0.1;

/**
 * What a link of a class moves at least, in GB/s: one direction of what the
 * fewest lanes of that kind have in practice, far below their data sheets.
 * Absent: nothing is promised.
 */
const PROMISED_GB_PER_S: Readonly<Partial<Record<PairClass, number>>> = {
  same_gpu: 100,
  nvlink_fabric: 50,
  nvlink_host: 25,
  same_pcie_root: 8,
  same_numa_node: 8,
  same_host: 6,
};

/** What links of a class move at least, in GB/s; undefined where nothing is promised. */
export function promisedGigabytesPerSecond(pairClass: PairClass): number | undefined {
  return PROMISED_GB_PER_S[pairClass];
}

/** In words, for a WARN. */
const PROMISE_WORDS: Readonly<Partial<Record<PairClass, string>>> = {
  same_gpu: 'one GPU',
  nvlink_fabric: 'NVLink',
  nvlink_host: 'NVLink',
  same_pcie_root: 'one PCIe root',
  same_numa_node: 'one NUMA node',
  same_host: 'one host',
};

/**
 * What transfers take, one number for a pair, with decay. An estimate weighs
 * by bytes, so that many small transfers do not stand for a large one.
 */
export class TransferCostMeter {
  #bytes = 0;
  #milliseconds = 0;
  #transfers = 0;

  /** Undefined before the first transfer that is large enough to say something. */
  get cost(): TransferCost | undefined {
    if (this.#bytes === 0) return undefined;
    return { millisecondsPerMebibyte: this.millisecondsPerMebibyte, transfers: this.#transfers };
  }

  /** NaN before the first transfer that was measured. */
  get millisecondsPerMebibyte(): number {
    return (this.#milliseconds / this.#bytes) * BYTES_PER_MEBIBYTE;
  }

  /** Counts one. Sizes and times that are no finite numbers above 0, and small transfers, are left out. */
  add({ sizeBytes, durationMs }: FinishedTransfer): void {
    if (!Number.isFinite(sizeBytes) || !Number.isFinite(durationMs)) return;
    if (sizeBytes < MIN_MEASURED_BYTES || durationMs <= 0) return;
    this.#bytes = this.#bytes * KEPT_SHARE + sizeBytes;
    this.#milliseconds = this.#milliseconds * KEPT_SHARE + durationMs;
    this.#transfers += 1;
  }
}

/** Whether a pair is far below what its class promises; false while too little was moved to say. */
export function isSlow(pairClass: PairClass, cost: TransferCost | undefined): boolean {
  const promised = PROMISED_GB_PER_S[pairClass];
  if (cost === undefined || promised === undefined || cost.transfers < MIN_TRANSFERS_TO_WARN) return false;
  return gigabytesPerSecond(cost.millisecondsPerMebibyte) < promised * SLOW_SHARE;
}

/** GB/s (10^9 bytes) of a cost in ms per MiB. */
export function gigabytesPerSecond(millisecondsPerMebibyte: number): number {
  return BYTES_PER_MEBIBYTE / (millisecondsPerMebibyte * 1_000_000);
}

/**
 * Why a pair is far slower than its class promises, as
 * `is NVLink by topology and moved 0.4 GB/s in 50 transfers: is UCX using TCP?`;
 * undefined while it is not, or too little was moved to say.
 */
export function slowPairMessage(pairClass: PairClass, cost: TransferCost | undefined): string | undefined {
  if (cost === undefined || !isSlow(pairClass, cost)) return undefined;
  const moved = gigabytesPerSecond(cost.millisecondsPerMebibyte);
  return `is ${PROMISE_WORDS[pairClass]} by topology and moved ${moved.toPrecision(1)} GB/s in ${cost.transfers} transfers: is UCX using TCP?`;
}
