import type { Clock, Timer } from '../../../edge/platform/clock.js';

export interface RankScheduleOptions {
  /**
   * Milliseconds between two looks at the replay socket for batches that were
   * lost at the end, after which nothing came. Default 30,000.
   */
  readonly auditIntervalMs?: number;
  /** Milliseconds until the first such look, when a connection is new. Default 1,000. */
  readonly firstAuditMs?: number;
  /**
   * Least milliseconds between two attempts to rebuild a cache view that lacks
   * something. Default 30,000, doubled with each attempt up to 32 times that.
   */
  readonly healIntervalMs?: number;
}

const AUDIT_INTERVAL_MS = 30_000;
const FIRST_AUDIT_MS = 1_000;
const HEAL_INTERVAL_MS = 30_000;
const MAX_HEAL_DOUBLINGS = 5;

/** What a reader asks its engine for, the most urgent first. */
export type DueReplay = 'rebuild' | 'heal' | 'check';

/** The healing of a cache view that lacks something. */
type Healing =
  | { readonly type: 'idle' }
  | { readonly type: 'waiting'; readonly timer: Timer }
  | { readonly type: 'due' };

/** What wakes the reader, and what it allows. */
export interface RankScheduleModules {
  readonly clock: Clock;
  /** Whether there is a replay endpoint; without one nothing is ever due by time. */
  readonly canReplay: () => boolean;
  /** Whether a look for lost batches makes sense now. */
  readonly mayCheck: () => boolean;
  readonly wakeUp: () => void;
}

/** When one rank's reader has to ask its engine for old batches, and for what. */
export class RankSchedule {
  readonly #options: RankScheduleOptions;
  readonly #modules: RankScheduleModules;
  #due: 'nothing' | 'check' | 'rebuild' = 'nothing';
  #healing: Healing = { type: 'idle' };
  #healAtMs = 0;
  #heals = 0;
  #audit: { readonly timer: Timer; readonly atMs: number } | undefined;
  #isClosed = false;

  constructor(options: RankScheduleOptions, modules: RankScheduleModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** What is to be done next; undefined when nothing is due. */
  get next(): DueReplay | undefined {
    if (this.#due === 'rebuild') return 'rebuild';
    if (this.#healing.type === 'due') return 'heal';
    return this.#due === 'check' ? 'check' : undefined;
  }

  get isCheckDue(): boolean {
    return this.#due === 'check';
  }

  /** The cache view is to be built from the oldest batch that the engine keeps. It answers what a check would. */
  requestRebuild(): void {
    this.#due = 'rebuild';
  }

  /** The publisher is to be asked whether it is the same, and published more than was read. */
  requestCheck(): void {
    if (this.#due === 'nothing') this.#due = 'check';
  }

  /** The check that was due begins. */
  beginCheck(): void {
    if (this.#due === 'check') this.#due = 'nothing';
  }

  /** A rebuild begins, whatever asked for it. */
  beginRebuild(): void {
    if (this.#due === 'rebuild') this.#due = 'nothing';
    if (this.#healing.type === 'due') this.#healing = { type: 'idle' };
  }

  /** Rebuilds the cache view later and less and less often: it costs every reader a snapshot. */
  healLater(isUrgent: boolean): void {
    if (!this.#modules.canReplay() || this.#healing.type !== 'idle' || this.#isClosed) return;
    const { clock, wakeUp } = this.#modules;
    const nowMs = clock.monotonicMs();
    const intervalMs = this.#options.healIntervalMs ?? HEAL_INTERVAL_MS;
    const pauseMs = intervalMs * 2 ** Math.min(this.#heals, MAX_HEAL_DOUBLINGS);
    const earliestMs = isUrgent && this.#heals === 0 ? nowMs : Math.max(this.#healAtMs, nowMs + intervalMs);
    this.#heals += 1;
    this.#healAtMs = earliestMs + pauseMs;
    const timer = clock.setTimer(earliestMs - nowMs, () => {
      this.#healing = { type: 'due' };
      wakeUp();
    });
    this.#healing = { type: 'waiting', timer };
  }

  /** Another publisher counts: its first healing waits no longer than the first of all. */
  forgetHeals(): void {
    this.#heals = 0;
  }

  /** A check soon, because something is new. */
  auditSoon(): void {
    this.#auditIn(this.#options.firstAuditMs ?? FIRST_AUDIT_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#audit?.timer.clear();
    if (this.#healing.type === 'waiting') this.#healing.timer.clear();
  }

  /** A check after `delayMs`, or before when one is due earlier: no number of causes postpones it. */
  #auditIn(delayMs: number): void {
    if (!this.#modules.canReplay() || this.#isClosed) return;
    const { clock, mayCheck, wakeUp } = this.#modules;
    const atMs = clock.monotonicMs() + delayMs;
    if (this.#audit !== undefined && this.#audit.atMs <= atMs) return;
    this.#audit?.timer.clear();
    const timer = clock.setTimer(delayMs, () => {
      this.#audit = undefined;
      if (mayCheck()) this.requestCheck();
      this.#auditIn(this.#options.auditIntervalMs ?? AUDIT_INTERVAL_MS);
      wakeUp();
    });
    this.#audit = { timer, atMs };
  }
}
