/** How near two workers are, the nearest first; `apart`: they are known to share none of these. */
export type PairClass =
  | 'same_gpu'
  | 'nvlink_fabric'
  | 'nvlink_host'
  | 'same_pcie_root'
  | 'same_numa_node'
  | 'same_host'
  | 'same_rack'
  | 'same_zone'
  | 'same_region'
  | 'apart'
  | 'unknown';

/** What is known of the pairs of one model. Each is asked for every candidate of a decision: in constant time, without allocating. */
export interface PairKnowledge {
  /** Whether requests may be sent over a pair, by their targets. */
  mayUse(prefillTarget: string, decodeTarget: string): boolean;
  classOf(prefillTarget: string, decodeTarget: string): PairClass;
  /** What transfers took lately; NaN before the first. */
  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number;
}

/** Before anything is known: every pair may be used. */
export const EVERY_PAIR: PairKnowledge = {
  mayUse: () => true,
  classOf: () => 'unknown',
  millisecondsPerMebibyte: () => Number.NaN,
};
