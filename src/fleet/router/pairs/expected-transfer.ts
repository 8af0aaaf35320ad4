import { linkCodeOf, NO_LINK } from '../../../core/pairs/pair-links.js';
import type { PairClass } from '../../../core/pairs/pair-words.js';

/**
 * What a mebibyte takes before a pair was measured, in milliseconds: a rate that links of a class reach with ease, far below
 * their data sheets, from 100 GB/s within a GPU to 1 GB/s, which is TCP, where nothing is known.
 */
const MS_PER_MEBIBYTE: Readonly<Record<PairClass, number>> = {
  same_gpu: 0.01,
  nvlink_fabric: 0.01,
  nvlink_host: 0.02,
  same_pcie_root: 0.05,
  same_numa_node: 0.06,
  same_host: 0.08,
  same_rack: 0.1,
  same_zone: 0.2,
  same_region: 0.5,
  apart: 1,
  unknown: 1,
};

/** By what `PairLinks.classes` has. */
const MS_PER_MEBIBYTE_BY_CODE: Float64Array = new Float64Array(1 + Object.keys(MS_PER_MEBIBYTE).length);
MS_PER_MEBIBYTE_BY_CODE[NO_LINK] = Number.POSITIVE_INFINITY;
for (const [pairClass, cost] of Object.entries(MS_PER_MEBIBYTE))
  MS_PER_MEBIBYTE_BY_CODE[linkCodeOf(pairClass as PairClass)] = cost;

/** KV blocks of a token where the reports do not say of what they are made: those of a model with 8 billion parameters. */
const DEFAULT_BYTES_PER_TOKEN = 128 * 1024;

const BYTES_PER_MEBIBYTE = 1_048_576;

/** What a mebibyte takes over a pair, in milliseconds: measured (NaN where it was not), else by the code of its class. */
export function millisecondsPerMebibyte(measured: number, code: number): number {
  return Number.isNaN(measured) ? (MS_PER_MEBIBYTE_BY_CODE[code] as number) : measured;
}

/** What it takes to move the blocks of so many tokens at such a cost, in milliseconds; NaN stands for bytes that are not known. */
export function expectedTransferMs(perMebibyte: number, tokens: number, bytesPerToken: number): number {
  const bytes = Number.isNaN(bytesPerToken) ? DEFAULT_BYTES_PER_TOKEN : bytesPerToken;
  return (perMebibyte * tokens * bytes) / BYTES_PER_MEBIBYTE;
}
