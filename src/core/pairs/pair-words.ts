/**
 * Whether a prefill worker can hand its KV blocks to a decode worker.
 * `cannot_say`: nothing is known to differ, and something that decides is not
 * known. `set_aside`: it failed in service, and is tried again later.
 */
export type PairState = 'can_pair' | 'cannot_say' | 'cannot_pair' | 'set_aside';

/** How near two workers are, the nearest first; the best that their reports prove. */
export const PAIR_CLASSES = [
  'same_gpu',
  'nvlink_fabric',
  'nvlink_host',
  'same_pcie_root',
  'same_numa_node',
  'same_host',
  'same_rack',
  'same_zone',
  'same_region',
  'apart',
  'unknown',
] as const;

/** See `PAIR_CLASSES`. `apart`: they are known to share none of these. */
export type PairClass = (typeof PAIR_CLASSES)[number];

/** What `--pair-policy` does about pairs: see rule P4 of `docs/agreement.md`. */
export type PairPolicy = 'require' | 'warn' | 'report';

/** A field that the two workers of a pair do not have in common. */
export interface PairDifference {
  /** Path in `CapabilityReport`, such as `transfer.dtype`. */
  readonly field: string;
  /** Empty where that side does not say. */
  readonly prefillValue: string;
  readonly decodeValue: string;
  /** Where they came from: `GET http://10.0.0.1:8000/server_info`; empty where the report does not say. */
  readonly prefillOrigin: string;
  readonly decodeOrigin: string;
}

/** All that is known of one pair, for people and for the wire. */
export interface PairVerdict {
  readonly state: PairState;
  /**
   * Whether requests may be sent over it by its state and `--pair-policy`. Whether both workers are offered themselves is
   * the agreement's to say.
   */
  readonly offered: boolean;
  readonly class: PairClass;
  /** What proves the class: `NVLink fabric 4fc1….32766`. */
  readonly classEvidence: string;
  /** Why it is in that state, for an operator; empty for `can_pair`. */
  readonly reason: string;
  /** What differs, the values that decide first. */
  readonly differences: readonly PairDifference[];
}
