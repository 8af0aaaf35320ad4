import type { PairCounts } from './count-pairs.js';
import type { PairChangesSince } from './pair-changes.js';
import type { PairLinks } from './pair-links.js';
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
  /** Prefill and decode target of the pairs that are set aside, in no order. */
  readonly setAside: Iterable<readonly [string, string]>;
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
  /** Another one whenever numbers of decode workers are. */
  readonly decodeNumbersVersion: number;
  /** A small number that stands for a decode worker; undefined for what is none. */
  decodeNumberOf(decodeTarget: string): number | undefined;
  /**
   * All pairs of a prefill worker, as `mayUse`, `classOf` and `millisecondsPerMebibyte` have each of them; undefined where
   * it is none. Costs places, and pairs on its host or that were used.
   */
  linksOf(prefillTarget: string): PairLinks | undefined;
  /** All of one pair, for people; undefined where one of the two is no member of that role. */
  verdict(prefillTarget: string, decodeTarget: string): PairVerdict | undefined;
  transfersOf(prefillTarget: string, decodeTarget: string): PairTransfers;
}
