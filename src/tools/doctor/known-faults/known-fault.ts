import type { CauseId, Disturbance } from '../cause-ids.js';

/**
 * A sentence of a program that names a fault by itself, with the cure that the program's source, or its documentation, has
 * for it. General rules class what is in no such row.
 */
export interface KnownFault {
  /** In snake_case, and of no other row. */
  readonly id: string;
  /** The cause under which it is reported. */
  readonly cause: CauseId;
  /** Parts of a message that only such lines have, any of them: ASCII, 12 characters and more. */
  readonly needles: readonly string[];
  /** What the message with its `error` has to fit besides. Its groups are `$1`, `$2` … of the texts. */
  readonly pattern?: RegExp;
  /** Parts of lines above it, a traceback away at most: it is a fault of this row only where one of them is there. As rare as needles. */
  readonly below?: readonly string[];
  /** Parts of lines above it, as for `below`: it is no fault where one of them is there. As rare as needles. */
  readonly notBelow?: readonly string[];
  /** Parts of the line, up to a few above, that has the words of this one, as `message:` of a condition: its text stands before that of the line for the pattern. */
  readonly above?: readonly string[];
  /** Parts of later lines that show that it has passed: it is no fault where one of them comes after its last line. As rare as needles. */
  readonly healedBy?: readonly string[];
  /** True where its line has what another program said: a rule that knows that sentence decides in place of this row. */
  readonly passesOn?: boolean;
  /** How often it has to come to be a fault: waits and retries heal. Default 1. */
  readonly atLeast?: number;
  /** True where it may heal or be harmless: it is `possible` then, and not `likely`. */
  readonly isSign?: boolean;
  /** True where somebody may want it as it is: the report names it, and no fault. A sign alone. */
  readonly mayBeMeant?: boolean;
  /**
   * Causes and rows, by their ids, that have the reason of this one or say it more exactly. Behind a cause that names a reason
   * it comes second; beside a row of lines near by it is not named.
   */
  readonly follows?: readonly string[];
  /** For the headline: the fault with the numbers and names of the line, without a full stop. */
  readonly says: string;
  /** What happens, and why the cure helps. */
  readonly why: string;
  /** One instruction, without a full stop. */
  readonly cure: string;
  /** What to run for it; placeholders in capitals. */
  readonly commands?: readonly string[];
  /** Default `one_worker_at_a_time`. */
  readonly disturbs?: Disturbance;
}

/** Fills `$1` … of a text; brackets around one that the line lacks go with it. */
export function filled(text: string, values: readonly string[]): string {
  return text
    .replace(/\$([1-9])/g, (_place, digit: string) => values[Number(digit) - 1] ?? '')
    .replaceAll(' ()', '');
}
