import type { IncomingHttpHeaders } from 'node:http';
import type { Usage } from '../../fleet/router/routing.js';
import { type Api, KEPT_RESPONSE, OTHER_PATH, RESPONSES } from '../apis/api.js';
import { ResponseIdWatch } from '../gateway/response-homes.js';
import { CLIENT_CLOSED_REQUEST } from '../proxy/client-side.js';
import type { RequestSpan } from '../tracing/request-tracer.js';
import { isFailure, judgeFailure, MAX_LOOKED_AT_BYTES, refusalOfPair } from './failed-answer.js';
import { PickedRoute } from './picked-route.js';
import type { PickerStreamModules } from './picker-modules.js';
import type { Chosen } from './picking.js';
import { SERVED } from './wire/names.js';
import { headerOf } from './wire/read-headers.js';

export interface ShownAnswerOptions {
  readonly api: Api;
  readonly isShadow: boolean;
  /** When its request began, on the monotonic clock. */
  readonly startedMs: number;
  /** Its part of a trace; undefined: it has none. */
  readonly span: RequestSpan | undefined;
}

/** What was seen of an answer when its stream is over. */
export interface SeenAnswer {
  /** Its status; 499 where none came. */
  readonly status: number;
  readonly isWhole: boolean;
  /** From the request's first message; undefined when no byte of a body came. */
  readonly firstByteMs: number | undefined;
  /** What the engine said of it. */
  readonly usage: Usage | undefined;
}

/** The answer to one request, as far as the gateway shows it. */
export class ShownAnswer {
  readonly #options: ShownAnswerOptions;
  readonly #modules: PickerStreamModules;
  readonly #ids: ResponseIdWatch | undefined;
  #picked: PickedRoute | undefined;
  /** Whom another picker has chosen, where this one only watches. */
  #otherChoice: string | undefined;
  #hasBegun = false;
  #status = 0;
  #isWhole = false;
  #firstByteMs: number | undefined;
  /** An answer with an error, until it is known whose it is. */
  #failure: { readonly headers: IncomingHttpHeaders; text: string } | undefined;

  constructor(options: ShownAnswerOptions, modules: PickerStreamModules) {
    this.#options = options;
    this.#modules = modules;
    this.#ids = options.api === RESPONSES ? new ResponseIdWatch() : undefined;
  }

  /** An endpoint was chosen. `destination`: what the request's header already said; `sketch`: of its body. */
  choose(chosen: Chosen, destination: string | undefined, sketch: number): void {
    this.#picked = new PickedRoute(chosen, sketch);
    this.#otherChoice = destination?.split(',', 1)[0]?.trim();
  }

  /** Its headers have come, of `served` where the gateway says that. */
  begin(headers: IncomingHttpHeaders, served: string | undefined): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#status = statusOf(headerOf(headers, ':status'));
    this.#settle(served ?? headerOf(headers, SERVED));
    this.#judge(headers);
    this.#picked?.beginAnswer(
      {
        status: this.#status,
        isEventStream: EVENT_STREAM.test(headerOf(headers, 'content-type') ?? ''),
        isPlain: headers['content-encoding'] === undefined,
      },
      this.#options.api,
    );
  }

  add(piece: Buffer): void {
    if (piece.length === 0) return;
    const { clock, homes } = this.#modules;
    this.#firstByteMs ??= clock.monotonicMs() - this.#options.startedMs;
    if (this.#failure !== undefined) this.#look(this.#failure, piece);
    this.#picked?.onData(piece);
    const id = this.#ids?.add(piece);
    const home = this.#picked?.servedBy;
    if (id !== undefined && home !== undefined) homes.remember(id, home);
  }

  /** All of it has come. */
  end(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#blame();
    this.#picked?.onEnd();
    this.#picked?.release();
  }

  /** The stream is over: what was reserved is released. */
  finish(): SeenAnswer {
    this.#blame();
    this.#picked?.release();
    return {
      status: this.#status === 0 ? CLIENT_CLOSED_REQUEST : this.#status,
      isWhole: this.#isWhole,
      firstByteMs: this.#firstByteMs,
      usage: this.#picked?.usage,
    };
  }

  /** Takes note of who answered, and of an error until its body says whose it is. */
  #judge(headers: IncomingHttpHeaders): void {
    const picked = this.#picked;
    // Where requests are only watched, nothing is made of how they end.
    if (picked === undefined || this.#options.isShadow) return;
    const { suspects } = this.#modules;
    const isSplit = picked.decision.pair !== undefined;
    if (isFailure(this.#status, isSplit)) this.#failure = { headers, text: '' };
    else if (this.#status >= 200 && this.#status < 300 && this.#isComputed)
      picked.withServing(({ route }) => suspects.answered(route.decision, picked.sketch));
  }

  #look(failure: { text: string }, piece: Buffer): void {
    failure.text += piece.toString('latin1', 0, Math.max(0, MAX_LOOKED_AT_BYTES - failure.text.length));
  }

  #blame(): void {
    const failure = this.#failure;
    const picked = this.#picked;
    this.#failure = undefined;
    if (failure === undefined || picked === undefined) return;
    const { suspects, pickerMetrics } = this.#modules;
    if (this.#status < 500) {
      const refusal = refusalOfPair(failure.text);
      if (refusal === undefined) return;
      pickerMetrics.failed('pair');
      picked.withServing(({ pair }) => pair?.failed(refusal));
      return;
    }
    const judged = judgeFailure(this.#status, failure.headers, failure.text);
    if (judged.by === 'gateway') {
      pickerMetrics.failed('gateway');
      return;
    }
    const { fault, isSure } = judged;
    const isPairs = !isSure && fault.kind === 'server_error' && picked.decision.pair !== undefined;
    pickerMetrics.failed(isPairs ? 'pair' : fault.kind);
    if (isSure) picked.withServing(({ route }) => route.failed(fault));
    // What a server answers on paths of its own says nothing of its engine.
    else if (this.#isComputed)
      picked.withServing(({ route, pair }) => {
        if (pair === undefined) suspects.failed(route, fault, picked.sketch);
        // Either of the two steps: no answer shows which.
        else if (isPairs) pair.failed(`${fault.detail}, of the prefill worker or after it`);
        else suspects.failed(route, fault, picked.sketch);
      });
  }

  get #isComputed(): boolean {
    const { api } = this.#options;
    return api !== OTHER_PATH && api !== KEPT_RESPONSE;
  }

  /** Compares who answered with who was chosen. */
  #settle(served: string | undefined): void {
    const picked = this.#picked;
    const { pickerMetrics } = this.#modules;
    if (picked === undefined) return;
    const { isShadow } = this.#options;
    const by = isShadow ? (served ?? this.#otherChoice) : served;
    const at = by === undefined ? -1 : picked.endpoints.indexOf(by);
    if (isShadow) pickerMetrics.shadow(by === undefined ? 'unknown' : at === 0 ? 'same' : 'other');
    else
      pickerMetrics.served(by === undefined ? 'unknown' : at === 0 ? 'first' : at > 0 ? 'fallback' : 'other');
    // Of a fallback it is known that those before it in the list could not be reached.
    if (by === undefined || at === 0) return;
    const hasFailed = !isShadow && at > 0;
    if (hasFailed) pickerMetrics.failed('unreachable');
    picked.moveTo(by, hasFailed);
    const { span } = this.#options;
    if (span !== undefined) picked.withServing(({ route, sent }) => span.decided(route.decision, sent));
  }
}

const EVENT_STREAM = /^\s*text\/event-stream\b/i;

function statusOf(text: string | undefined): number {
  return text !== undefined && /^[1-5]\d\d$/.test(text) ? Number(text) : 0;
}
