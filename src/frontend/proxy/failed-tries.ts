import type { WorkerFault } from '../../core/health/worker-fault.js';
import type { Route } from '../../fleet/router/routing.js';
import type { OpenAiError } from '../errors/openai-error.js';
import type { HeldAnswer } from './answers/held-answer.js';
import type { FailureLog } from './failure-log.js';
import type { ProxyOptions } from './proxy-options.js';
import { notAnsweredError } from './refusals.js';
import { Suspects } from './watches/suspicion.js';
import type { AttemptFailure } from './workers/attempt.js';

/**
 * Workers that may end with one request before it is given up: the request itself may be what ends engines, and is not to
 * go through a whole fleet of them.
 */
const MAX_ENDINGS = 2;

const NO_TARGETS: readonly string[] = [];

/** What the tries of one request have come to so far, and whether another one makes sense. */
export class FailedTries {
  /** The last error that came in whole. */
  held: HeldAnswer | undefined;
  /** The worker that was asked last. */
  lastRoute: Route | undefined;
  /** Whether one worker is to compute all of it, because two could not. */
  isUnsplit = false;
  readonly #maxRetries: number;
  readonly #suspects = new Suspects();
  /** Targets that failed. */
  readonly #excluded: string[] = [];
  /** Workers that ended the connection after the request was sent, or answered with an error. */
  #endings = 0;
  #failure: AttemptFailure | undefined;

  constructor({ maxRetries }: Pick<ProxyOptions, 'maxRetries'>) {
    this.#maxRetries = maxRetries;
  }

  /** Targets that are not to be asked again. */
  get excluded(): readonly string[] {
    return this.#excluded.length === 0 ? NO_TARGETS : [...this.#excluded];
  }

  /** How the last one failed; undefined while none has. */
  get failure(): AttemptFailure | undefined {
    return this.#failure;
  }

  get mayRetry(): boolean {
    return this.#excluded.length < this.#maxRetries && this.#endings < MAX_ENDINGS;
  }

  /** Whether a worker may still be asked to compute alone what two could not. */
  get mayFallBack(): boolean {
    return this.isUnsplit && this.#excluded.length <= this.#maxRetries;
  }

  /** A try has failed. `isEnding`: perhaps the request ended its engine. */
  failed(failure: AttemptFailure, route: Route, isEnding: boolean): void {
    if (isEnding) this.#endings += 1;
    this.#failure = failure;
    this.lastRoute = route;
  }

  /** A target is not asked again. */
  exclude(target: string): void {
    this.#excluded.push(target);
  }

  /** A worker failed, or the request is to blame: whether another one answers it shows which. */
  suspect(route: Route, fault: WorkerFault): void {
    // That no connection can be made is no fault of any request.
    if (fault.kind === 'unreachable') route.failed(fault);
    else this.#suspects.add(route, fault);
  }

  /** Another worker answered the same request: those that failed are to blame. */
  blameWorkers(): void {
    this.#suspects.blame();
  }

  /** What its client gets when no further worker is tried; what is a worker's fault is logged. */
  conclude(failure: AttemptFailure, group: string, log: FailureLog): HeldAnswer | OpenAiError {
    const { held } = this;
    const decision = this.lastRoute?.decision;
    if (held === undefined) {
      const error = notAnsweredError(failure, this.#excluded.length);
      if (failure !== 'bad_request') log.refused(group, error.message, decision);
      return error;
    }
    if (held.status >= 500) log.refused(group, `a worker answered with status ${held.status}.`, decision);
    return held;
  }
}

/** Whether a failure after the request was sent may be one that ended the engine. */
export function isEnding(failure: AttemptFailure): boolean {
  return failure === 'closed' || failure === 'error';
}
