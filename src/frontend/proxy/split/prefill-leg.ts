import type { WorkerFault } from '../../../core/health/worker-fault.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { GatheredBytes } from '../../../edge/platform/data/gathered-bytes.js';
import { JsonScan } from '../../../edge/platform/data/json-scan.js';
import type { Route, Usage } from '../../../fleet/router/routing.js';
import { fieldBytes } from '../../json/splice-object.js';
import { AnswerWatch } from '../answers/answer-watch.js';
import { HeldAnswer } from '../answers/held-answer.js';
import { passedHeaders } from '../headers.js';
import type { ProxiedRequest } from '../proxied-request.js';
import type { ProxyOptions } from '../proxy-options.js';
import { type Silence, SilenceWatch, seconds } from '../watches/silence-watch.js';
import { StallWatch } from '../watches/stall-watch.js';
import { faultOf, suspicionOf } from '../watches/suspicion.js';
import { Attempt, type AttemptFailure, type AttemptListener } from '../workers/attempt.js';
import type { WorkerEndpoint } from '../workers/worker-pools.js';

/**
 * Longest answer of a prefill worker: the ids of the blocks of a million tokens take half a megabyte.
 */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** What a prefill worker answered. */
export interface Prefilled {
  /** What its decode worker needs, JSON; undefined where it answered without. */
  readonly parameters: Buffer | undefined;
  readonly usage: Usage | undefined;
}

/** Who waits for the worker that computes a prompt. */
export interface PrefillListener {
  onPrefilled(answer: Prefilled): void;
  /** `held` is what it answered, where that is no fault of its own. */
  onPrefillFailed(failure: AttemptFailure, fault: WorkerFault | undefined, held?: HeldAnswer): void;
}

/** The worker that computes a prompt, and what it is sent. */
export interface PrefillTarget {
  readonly route: Route;
  readonly endpoint: WorkerEndpoint;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
}

export interface PrefillModules {
  readonly options: ProxyOptions;
  readonly clock: Clock;
}

/** One request on its way to the worker that computes its prompt, and the answer, which no client sees. */
export class PrefillLeg implements AttemptListener {
  readonly #target: PrefillTarget;
  readonly #modules: PrefillModules;
  readonly #attempt: Attempt;
  readonly #silence: SilenceWatch;
  readonly #stall: StallWatch;
  readonly #gathered = new GatheredBytes();
  readonly #scan = new JsonScan();
  readonly #usage = new AnswerWatch(false);
  #listener: PrefillListener | undefined;
  #status = 0;
  #fault: WorkerFault | undefined;
  #answerHeaders: readonly string[] = [];
  readonly #startedMs: number;
  #sinceMs: number;

  constructor(
    target: PrefillTarget,
    request: Pick<ProxiedRequest, 'group' | 'headers'>,
    modules: PrefillModules,
    listener: PrefillListener,
  ) {
    this.#target = target;
    this.#modules = modules;
    this.#listener = listener;
    this.#attempt = new Attempt(target.endpoint.worker, this);
    this.#silence = new SilenceWatch(modules.options, modules);
    this.#stall = new StallWatch(modules.options, request, modules);
    this.#startedMs = modules.clock.monotonicMs();
    this.#sinceMs = this.#startedMs;
  }

  start(): void {
    const { endpoint, route, path, headers, body } = this.#target;
    const { worker, pathPrefix } = endpoint;
    worker.work.sent(route.decision, body.length, this.#startedMs);
    // The attempt hears of everything that is wrong: nothing is thrown here.
    worker.pool.dispatch({ method: 'POST', path: pathPrefix + path, headers, body }, this.#attempt);
  }

  /** Nobody waits for it any longer: its connection is closed, and its engine stops. */
  leave(): void {
    this.#listener = undefined;
    this.#attempt.leave();
  }

  /** Ends what takes too long. */
  check(nowMs: number): void {
    if (this.#listener === undefined) return;
    const { prefillTimeoutMs, headersTimeoutMs } = this.#modules.options;
    const { route, endpoint } = this.#target;
    const elapsedMs = nowMs - this.#startedMs;
    const isTooSlow = prefillTimeoutMs > 0 && elapsedMs >= prefillTimeoutMs;
    if (isTooSlow || nowMs - this.#sinceMs >= headersTimeoutMs) {
      const detail = `nothing for ${seconds(elapsedMs)} s`;
      // A full engine that answers others is slow, and no fault of its own.
      if (!endpoint.worker.life.hasAnsweredSince(this.#sinceMs)) route.failed({ kind: 'timeout', detail });
      this.#fail('silent', undefined);
      return;
    }
    const current = { route, endpoint, attempt: this.#attempt, isSecond: false };
    const silence: Silence | undefined =
      this.#silence.beforeAnswer(current, this.#sinceMs, nowMs) ??
      this.#stall.check(current, false, this.#sinceMs, nowMs);
    if (silence !== undefined) this.#fail('silent', undefined);
  }

  onSent(): void {
    this.#sinceMs = this.#modules.clock.monotonicMs();
  }

  onAnswer(status: number, rawHeaders: readonly (Buffer | string)[]): void {
    const { endpoint } = this.#target;
    this.#sinceMs = this.#modules.clock.monotonicMs();
    endpoint.worker.life.answer(this.#sinceMs);
    const { headers, isHtml } = passedHeaders(rawHeaders);
    this.#status = status;
    this.#answerHeaders = headers;
    this.#fault = suspicionOf({ status, isHtml });
    if (this.#fault !== undefined) this.#fail(status === 503 ? 'unavailable' : 'error', this.#fault);
  }

  onData(piece: Buffer): void {
    this.#sinceMs = this.#modules.clock.monotonicMs();
    this.#gathered.add(piece);
    if (this.#gathered.bytes > MAX_ANSWER_BYTES) {
      const detail = `an answer of more than ${MAX_ANSWER_BYTES} bytes`;
      this.#fail('bad_answer', { kind: 'bad_answer', detail });
      return;
    }
    this.#scan.add(piece);
    this.#usage.add(piece);
  }

  onEnd(): void {
    const { endpoint } = this.#target;
    if (this.#status >= 300) {
      const held = new HeldAnswer(this.#status, this.#answerHeaders);
      const isHeld = held.add(this.#gathered.whole());
      this.#fail('error', undefined, isHeld ? held : undefined);
      return;
    }
    endpoint.worker.work.worked(this.#modules.clock.monotonicMs());
    const listener = this.#listener;
    this.#listener = undefined;
    const text = this.#gathered.whole();
    listener?.onPrefilled({
      parameters: fieldBytes(text, this.#scan, 'kv_transfer_params'),
      usage: this.#usage.usage,
    });
  }

  onFailure(failure: AttemptFailure, error: Error): void {
    this.#fail(failure, faultOf(failure, error));
  }

  #fail(failure: AttemptFailure, fault: WorkerFault | undefined, held?: HeldAnswer): void {
    const listener = this.#listener;
    this.leave();
    listener?.onPrefillFailed(failure, fault, held);
  }
}
