import { TransferCostMeter } from './transfer-cost.js';

/** Transfers in a row that fail before a pair is set aside. */
const MAX_FAILED_IN_A_ROW = 3;

/** How long a pair is set aside the first time; then twice as long each time, to the longest. */
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/** What is known of one pair from its requests. Changed by `PairsInService` alone. */
export class PairService {
  readonly meter: TransferCostMeter = new TransferCostMeter();
  transfers = 0;
  failed = 0;
  /** Since the last that went well. */
  failedInARow = 0;
  /** How often in a row it was set aside; the next time is longer for it. */
  pauses = 0;
  /** Until when it is set aside; undefined while it is not. */
  asideUntilMs: number | undefined;
  /** What failed last, for an operator. */
  lastFailure = '';
  isSlowLogged = false;
  /** `PairChanges.version` at its last use. */
  changedAt = 0;

  /** Counts a failure; true where the pair is to be set aside by it. */
  fail(reason: string, nowMs: number): boolean {
    this.failed += 1;
    this.failedInARow += 1;
    this.lastFailure = reason;
    if (this.asideUntilMs !== undefined) return false;
    // One that came back is on trial: its next failure is enough.
    if (this.pauses === 0 && this.failedInARow < MAX_FAILED_IN_A_ROW) return false;
    this.asideUntilMs = nowMs + Math.min(FIRST_PAUSE_MS * 2 ** this.pauses, LONGEST_PAUSE_MS);
    this.pauses += 1;
    return true;
  }

  /** Counts a transfer that went well. */
  succeed(): void {
    this.transfers += 1;
    this.failedInARow = 0;
    this.pauses = 0;
  }
}
