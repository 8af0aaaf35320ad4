import type { WorkerFault } from '../../../core/health/worker-fault.js';
import { workerName } from '../../../core/text/worker-name.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Decision, PairDecision, Route } from '../../../fleet/router/routing.js';
import type { HeldAnswer } from '../answers/held-answer.js';
import type { PassedAnswer } from '../answers/passed-answer.js';
import { type FailedTries, isEnding } from '../failed-tries.js';
import type { FailureLog } from '../failure-log.js';
import type { ProxiedRequest, SplitBodies } from '../proxied-request.js';
import type { ProxyOptions } from '../proxy-options.js';
import type { AttemptFailure } from '../workers/attempt.js';
import { askNotComputed } from '../workers/engine-work.js';
import type { Try } from '../workers/try.js';
import type { WorkerEndpoint, WorkerPools } from '../workers/worker-pools.js';
import { bootstrapRoom, hostAndPort } from './bootstrap.js';
import { type Prefilled, PrefillLeg, type PrefillListener } from './prefill-leg.js';
import { reportsPrefillCount, seenTransfer } from './seen-transfer.js';

/** How long an engine may take to say what it received. */
const COUNTERS_WAIT_MS = 5_000;

/** Two workers that share a request. */
export interface SplitTarget {
  /** The part of the worker that goes on after the prompt, and answers the client. */
  readonly route: Route;
  readonly endpoint: WorkerEndpoint;
  /** The part of the worker that computes the prompt. */
  readonly prefill: Route;
  readonly prefillBaseUrl: string;
  readonly pair: PairDecision;
  readonly bodies: SplitBodies;
}

export interface SplitModules {
  readonly options: ProxyOptions;
  readonly pools: WorkerPools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failures: FailureLog;
  readonly tries: FailedTries;
  /** The headers of the request as one worker gets them. */
  readonly headersFor: (decision: Decision, baseUrl: string) => string[];
}

/** Who waits for one try at two workers. */
export interface SplitListener {
  /** The worker that goes on can be asked, with `body`. */
  onReady(): void;
  /** The prompt was not computed, or in vain: `tries` has why. */
  onNotPrefilled(failure: AttemptFailure): void;
  /** Whether the worker that goes on has begun to answer. */
  readonly isAnswered: boolean;
}

/** The head of an answer that is not passed on yet. */
export interface HeldHead {
  readonly headers: readonly string[];
  pass(): void;
}

/**
 * One try of a request at two workers: one computes the prompt, the other goes on from its blocks. Over NIXL the second is
 * asked when the first has answered; over a bootstrap server both are asked, and meet.
 */
export class SplitTry implements PrefillListener {
  /** The head of a stream, until its first event shows that it is an answer. */
  heldHead: HeldHead | undefined;
  readonly #target: SplitTarget;
  readonly #request: ProxiedRequest;
  readonly #modules: SplitModules;
  readonly #listener: SplitListener;
  #leg: PrefillLeg | undefined;
  #body: Buffer | undefined;
  #promptTokens: number | undefined;
  #isFollowed: boolean;
  #reportsPrefill = false;
  #sentMs: number;
  #firstByteMs: number | undefined;

  constructor(target: SplitTarget, request: ProxiedRequest, modules: SplitModules, listener: SplitListener) {
    this.#target = target;
    this.#request = request;
    this.#modules = modules;
    this.#listener = listener;
    this.#isFollowed = target.endpoint.worker.received.isFollowed;
    this.#sentMs = modules.clock.monotonicMs();
  }

  /** What the worker that goes on is sent; undefined until that is known. */
  get body(): Buffer | undefined {
    return this.#body;
  }

  start(): void {
    try {
      this.#leg = this.#makeLeg();
    } catch (error) {
      const detail = describeError(error);
      const { prefill } = this.#target.pair;
      this.#modules.logger.warn(
        { worker_id: prefill.workerId, worker: prefill.target, error },
        `Prefill worker ${workerName(prefill)} cannot be asked: ${detail}`,
      );
      this.#prefillFailed('unreachable', { kind: 'unreachable', detail });
      return;
    }
    this.#leg.start();
    if (this.#body !== undefined) this.#listener.onReady();
  }

  /** Throws where an address is none. */
  #makeLeg(): PrefillLeg {
    const { prefill, prefillBaseUrl, pair, bodies } = this.#target;
    const { pools, headersFor } = this.#modules;
    const endpoint = pools.of(prefillBaseUrl);
    if (pair.protocol === 'bootstrap') {
      const meeting = hostAndPort(pair.bootstrapAddress);
      if (meeting === undefined)
        throw new TypeError(`"${pair.bootstrapAddress}" is no address of a bootstrap server`);
      this.#body = bodies.withBootstrap(meeting.host, meeting.port, bootstrapRoom(pair.prefill));
    }
    return new PrefillLeg(
      {
        route: prefill,
        endpoint,
        path: this.#request.path,
        headers: headersFor(prefill.decision, prefillBaseUrl),
        body: this.#body ?? bodies.forPrefill(),
      },
      this.#request,
      this.#modules,
      this,
    );
  }

  /** Ends what takes too long. */
  check(nowMs: number): void {
    this.#leg?.check(nowMs);
  }

  /** Nobody waits for it any longer. */
  leave(): void {
    this.#leg?.leave();
  }

  /** Whether this is the part of its worker that answers the client. */
  isOf(route: Route): boolean {
    return this.#target.route === route;
  }

  onPrefilled({ parameters, usage }: Prefilled): void {
    const { endpoint, prefill, pair, bodies } = this.#target;
    const { clock, tries } = this.#modules;
    prefill.prefillDone();
    prefill.release(usage);
    this.#promptTokens = usage?.promptTokens;
    // One that meets its partner has nothing more to say.
    if (pair.protocol === 'bootstrap') return;
    if (parameters === undefined) {
      this.#transferFailed(
        'the prefill worker answered without kv_transfer_params: its engine hands out no blocks',
      );
      tries.exclude(pair.prefill.target);
      this.#giveUp('error', false);
      return;
    }
    this.#body = bodies.withTransfer(parameters);
    this.#reportsPrefill = reportsPrefillCount(parameters);
    this.#isFollowed = endpoint.worker.received.isFollowed;
    if (this.#reportsPrefill) this.#askReceived();
    this.#sentMs = clock.monotonicMs();
    this.#listener.onReady();
  }

  onPrefillFailed(failure: AttemptFailure, fault: WorkerFault | undefined, held?: HeldAnswer): void {
    const { prefill } = this.#target;
    // Its partner has what it needs, or says itself what it lacks.
    if (this.#listener.isAnswered) {
      if (fault !== undefined) prefill.failed(fault);
      prefill.release();
      return;
    }
    const { tries } = this.#modules;
    tries.held = held ?? tries.held;
    this.#prefillFailed(failure, fault);
  }

  /** The prefill worker is out: one worker computes all, or another pair is asked for. */
  #prefillFailed(failure: AttemptFailure, fault: WorkerFault | undefined): void {
    const { prefill } = this.#target;
    const { options, failures, tries } = this.#modules;
    if (fault !== undefined) tries.suspect(prefill, fault);
    tries.exclude(prefill.decision.target);
    tries.isUnsplit = options.fallsBack;
    failures.prefillFailed(prefill.decision, fault?.detail ?? failure, options.fallsBack);
    this.#giveUp(failure, isEnding(failure));
  }

  /** The prefill worker is why this try is over. */
  #giveUp(failure: AttemptFailure, mayHaveEnded: boolean): void {
    this.#modules.tries.failed(failure, this.#target.prefill, mayHaveEnded);
    this.#listener.onNotPrefilled(failure);
  }

  /** What the prefill worker computed did not come over. */
  #transferFailed(failure: string): void {
    const { options, tries } = this.#modules;
    this.#target.route.transferred?.({ transferredTokens: 0, recomputedTokens: 0, durationMs: 0, failure });
    tries.isUnsplit = options.fallsBack;
  }

  /**
   * Takes a fault of the worker that goes on where it may come from the transfer: then it is the pair's, and that worker can
   * compute the prompt itself. False where it is none of these.
   */
  takesBlame(route: Route, { kind, detail }: WorkerFault): boolean {
    if (!this.isOf(route) || (kind !== 'server_error' && kind !== 'stalled')) return false;
    this.#transferFailed(detail);
    return true;
  }

  /** The try at the worker that goes on as one whose stall is the pair's fault: one that waits for blocks shows no work. */
  watched(current: Try): Try {
    const { decision } = current.route;
    const failed = ({ detail }: WorkerFault): void => this.#transferFailed(detail);
    return {
      ...current,
      route: { decision, prefillDone: ignore, progress: ignore, release: ignore, failed },
    };
  }

  /** A piece of the answer has come. */
  answering(nowMs: number): void {
    this.#firstByteMs ??= nowMs;
  }

  /** The answer has ended: says what became of the blocks. */
  ended(answer: PassedAnswer): void {
    const { endpoint, route, pair } = this.#target;
    const sight = {
      pair,
      promptTokens: this.#promptTokens,
      received: endpoint.worker.received,
      isFollowed: this.#isFollowed,
      reportsPrefill: this.#reportsPrefill,
      sentMs: this.#sentMs,
      firstByteMs: this.#firstByteMs,
    };
    const seen = seenTransfer(sight, route.decision, answer, this.#modules.clock.monotonicMs());
    if (seen !== undefined) route.transferred?.(seen);
  }

  /** An engine that reports another one's count has counters of its own. */
  #askReceived(): void {
    const { worker, pathPrefix, baseUrl } = this.#target.endpoint;
    const { options, clock } = this.#modules;
    const { engineApiKey, mayHaveKeys } = options;
    const { decision } = this.#target.route;
    void worker.received.ask(() => {
      const headers =
        engineApiKey !== undefined && mayHaveKeys(decision, baseUrl)
          ? { authorization: `Bearer ${engineApiKey}` }
          : {};
      const engine = { pool: worker.pool, pathPrefix, model: this.#request.group, headers };
      return askNotComputed(engine, COUNTERS_WAIT_MS, { clock });
    }, clock);
  }
}

function ignore(): void {}
