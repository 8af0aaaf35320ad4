import type { PairClass } from '../../../core/pairs/pair-words.js';
import type { PairKnowledge } from './pair-knowledge.js';

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

/** KV blocks of a token where the reports do not say of what they are made: those of a model with 8 billion parameters. */
const DEFAULT_BYTES_PER_TOKEN = 128 * 1024;

const BYTES_PER_MEBIBYTE = 1_048_576;

/** What it takes to move the blocks of so many tokens over a pair, in milliseconds: measured, else by its class. */
export function expectedTransferMs(
  pairs: PairKnowledge,
  prefillTarget: string,
  decodeTarget: string,
  tokens: number,
  bytesPerToken: number = DEFAULT_BYTES_PER_TOKEN,
): number {
  const measured = pairs.millisecondsPerMebibyte(prefillTarget, decodeTarget);
  const perMebibyte = Number.isNaN(measured)
    ? MS_PER_MEBIBYTE[pairs.classOf(prefillTarget, decodeTarget)]
    : measured;
  return (perMebibyte * tokens * bytesPerToken) / BYTES_PER_MEBIBYTE;
}
