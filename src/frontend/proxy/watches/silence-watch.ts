import type { Clock } from '../../../edge/platform/clock.js';
import type { ProxyOptions } from '../proxy-options.js';
import type { Try } from '../workers/try.js';

/** The longest silence of an ejected worker that a request tries. */
const TRIAL_SILENCE_MS = 5_000;

/** A worker that has said nothing at all for so many times as long as it may counts as gone: no request waits for it. */
const SILENT_TIMES = 4;

/** A worker has said nothing at all, or its engine has shown no work, for longer than it may. */
export interface Silence {
  /** For the log: `A worker says nothing`. */
  readonly what: string;
  /** True once for each silence of a worker: it is to be logged. */
  isNew(current: Try): boolean;
  readonly detail: string;
  /** It is reported now, and not again for as long. */
  readonly isReported: boolean;
  /** It is so long that the worker counts as gone. */
  readonly isGone: boolean;
}

const SILENCE: Pick<Silence, 'isNew' | 'what'> = {
  what: 'A worker says nothing',
  isNew: ({ endpoint }) => endpoint.worker.life.isNewSilence(),
};

/** Watches whether the worker of one request says anything at all, to whichever request, and asks it in the middle of a silence. */
export class SilenceWatch {
  readonly #limitMs: number;
  readonly #clock: Clock;
  /** When a silence may be reported again. */
  #reportDueMs = Number.NEGATIVE_INFINITY;

  constructor(
    { firstByteTimeoutMs }: Pick<ProxyOptions, 'firstByteTimeoutMs'>,
    modules: { readonly clock: Clock },
  ) {
    this.#limitMs = firstByteTimeoutMs;
    this.#clock = modules.clock;
  }

  /** Another worker is asked. */
  restart(): void {
    this.#reportDueMs = Number.NEGATIVE_INFINITY;
  }

  /** Before the answer, whose worker may be one that is tried after it was ejected. Undefined while the silence is short. */
  beforeAnswer(current: Try, sinceMs: number, nowMs: number): Silence | undefined {
    const { isTrial = false } = current.route.decision;
    const limitMs = isTrial ? Math.min(TRIAL_SILENCE_MS, this.#limitMs) : this.#limitMs;
    return this.#check(current, limitMs, sinceMs, nowMs);
  }

  /** Within the answer. Undefined while the silence is short. */
  withinAnswer(current: Try, sinceMs: number, nowMs: number): Silence | undefined {
    return this.#check(current, this.#limitMs, sinceMs, nowMs);
  }

  #check({ route, endpoint }: Try, limitMs: number, sinceMs: number, nowMs: number): Silence | undefined {
    const { worker, pathPrefix } = endpoint;
    const silentMs = worker.life.silentMs(sinceMs, nowMs);
    const halfMs = limitMs / 2;
    if (silentMs < halfMs) return undefined;
    worker.life.ask(worker.pool, pathPrefix, halfMs, this.#clock);
    if (silentMs < limitMs) return undefined;
    const detail = `nothing for ${seconds(silentMs)} s`;
    const isReported = nowMs >= this.#reportDueMs;
    if (isReported) {
      this.#reportDueMs = nowMs + limitMs;
      route.failed({ kind: 'silent', detail });
    }
    return { ...SILENCE, detail, isReported, isGone: silentMs >= SILENT_TIMES * limitMs };
  }
}

/** Whole seconds, for messages. */
export function seconds(durationMs: number): number {
  return Math.round(durationMs / 1_000);
}
