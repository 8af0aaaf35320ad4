import type { PairCounts } from './count-pairs.js';
import type { PairChangesSince } from './pair-changes.js';
import type { PairMember } from './pair-member.js';
import type { PairClass, PairPolicy, PairState, PairVerdict } from './pair-words.js';
import type { PairTransfers } from './pairs-in-service.js';

/** What may be asked of a book; nothing of it changes the book. All targets are those of discovery. */
export interface PairLookup {
  readonly policy: PairPolicy;
  /** Targets of the members of a role, in the order in which they came. */
  readonly prefillTargets: Iterable<string>;
  readonly decodeTargets: Iterable<string>;
  readonly prefillCount: number;
  readonly decodeCount: number;
  /** Grows with every change that shows in an answer. */
  readonly version: number;
  /** How many pairs there are in each state. Worked out once after a change: see `countPairs`. */
  readonly counts: PairCounts;
  /**
   * Pairs that changed after `version`, and members that left since; undefined where that is too long ago, and all is to
   * be read again.
   */
  changesSince(version: number): PairChangesSince | undefined;
  member(target: string): PairMember | undefined;
  /** Constant time, allocates nothing. Undefined where one of the two is no member of that role. */
  stateOf(prefillTarget: string, decodeTarget: string): PairState | undefined;
  /** Whether requests may be sent over the pair by its state and the policy. Constant time, allocates nothing. */
  mayUse(prefillTarget: string, decodeTarget: string): boolean;
  /** Constant time, allocates nothing; `unknown` for what is no pair. */
  classOf(prefillTarget: string, decodeTarget: string): PairClass;
  /** Measured ms per MiB; NaN before the first transfer that was measured. Constant time, allocates nothing. */
  millisecondsPerMebibyte(prefillTarget: string, decodeTarget: string): number;
  /** Calls `visit` for each decode worker over which requests of a prefill worker may be sent. */
  forEachDecode(prefillTarget: string, visit: (decodeTarget: string, pairClass: PairClass) => void): void;
  /** All of one pair, for people; undefined where one of the two is no member of that role. */
  verdict(prefillTarget: string, decodeTarget: string): PairVerdict | undefined;
  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers;
}
