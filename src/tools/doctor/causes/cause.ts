import type { ClueAgainst, ClueFor, Symptom } from '../confidence.js';
import type { CauseId, Clue, ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Seen } from '../measurements/seen.js';

/** A cause that the evidence has something to say about, before it is compared with the others. */
export interface Suspicion {
  readonly headline: string;
  readonly explanation: string;
  readonly cluesFor: readonly ClueFor[];
  readonly cluesAgainst: readonly ClueAgainst[];
  /** What else is accounted for if this is so: no clue any more for causes that are less sure. */
  readonly explains: readonly Symptom[];
  /** Causes that say the same more exactly, or its reason: where one of them is as sure and not vague, it comes first. */
  readonly yieldsTo?: readonly CauseId[];
  /** True where it only says that something failed: no other cause yields to it. */
  readonly isVague?: boolean;
  /** True where it may well be what somebody wants: see `Assessment`. */
  readonly mayBeMeant?: boolean;
  /** True where a program's own sentence names the fault: it comes before what general rules make of other lines. */
  readonly isKnownFault?: boolean;
  /** The best first. */
  readonly fixes: readonly ProposedFix[];
}

/** One thing that can be wrong. */
export interface Cause {
  readonly id: CauseId;
  /** Whether a program was seen that it is said of; without, it is never named. */
  concerns(seen: Seen): boolean;
  /** Effects that were measured and could not be if this did harm. It is `possible` then at most. */
  contradictedBy(measurements: Measurements): readonly Clue[];
  /** Undefined when nothing speaks for it. Never throws. */
  suspect(measurements: Measurements): Suspicion | undefined;
}
