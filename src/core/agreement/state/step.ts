import type { AgreementEffect } from './events.js';
import type { AgreementState } from './state.js';

/** One event as the reducer takes it: what it finds, and what comes of it. */
export interface Step {
  /** The fleet, which is changed in place. */
  readonly state: AgreementState;
  /** Monotonic milliseconds at which the event happens. */
  readonly nowMs: number;
  /** What has come of it so far, in order; each rule adds its own. */
  readonly effects: AgreementEffect[];
}
