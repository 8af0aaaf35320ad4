import type { IncomingHttpHeaders } from 'node:http';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import { RpcError } from '../../edge/rpc/errors.js';
import type { HttpBody, ProcessingResponse } from '../../gen/envoy/service/ext_proc/v3/external_processor.js';
import { type Api, KEPT_RESPONSE, OTHER_PATH } from '../apis/api.js';
import { drainingError } from '../errors/gateway-errors.js';
import { OpenAiError } from '../errors/openai-error.js';
import type { ComingBody, HeldBody, ReadBody } from '../gateway/request-body.js';
import type { ClientWatch } from '../gateway/request-reader.js';
import { CLIENT_CLOSED_REQUEST } from '../proxy/client-side.js';
import { notPickedError } from '../proxy/refusals.js';
import type { RequestSpan } from '../tracing/request-tracer.js';
import type { PickerStreamModules, PickerStreamOptions } from './picker-modules.js';
import type { Chosen, ShownRequest } from './picking.js';
import { ShownAnswer } from './shown-answer.js';
import { apiAskedBy } from './shown-api.js';
import { type BodyModes, bodyModesOf } from './wire/body-mode.js';
import { sketchOf } from './wire/body-sketch.js';
import { bodyAnswer, chosenAnswers, headersAnswer, refusal, trailersAnswer } from './wire/messages.js';
import { DESTINATION } from './wire/names.js';
import type { PickerCall } from './wire/picker-call.js';
import { headerOf } from './wire/read-headers.js';
import { readServed, readSubset } from './wire/read-metadata.js';
import { traced } from './wire/traced-changes.js';
import type { GatewayMessage, ShownHeaders } from './wire/wire.js';

/** Where the request of a stream is. */
type Phase =
  /** Nothing has come. */
  | 'begun'
  /** Its body comes. */
  | 'body'
  /** An endpoint is being chosen. */
  | 'deciding'
  /** Its endpoint was named, or it goes on without one. */
  | 'decided'
  /** It was refused, or its stream has ended: what still comes is not looked at. */
  | 'over';

/**
 * Longest time from the first message to the end of a body, as for the frontend's own: a gateway that keeps a stream open
 * without one gets its answer here.
 */
const MAX_BODY_MS = 120_000;

/**
 * How long a stream may be open without its request's headers, which gateways send with it. grpc-js (1.14.7) gives no sign of
 * a stream that is reset in the same packets that open it.
 */
const FIRST_MESSAGE_MS = 10_000;

/** Pieces that a body comes in: 32 MiB in pieces of 16 KiB are 2,048. */
const MAX_PIECES = 65_536;

/** One request that a gateway asks about, from its headers to the end of its answer. */
export class PickerStream implements ShownRequest, HeldBody, UnorderedMember {
  place = -1;
  api: Api = OTHER_PATH;
  group = '';
  bytes = 0;
  headers: IncomingHttpHeaders = {};
  keptId: string | undefined;
  subset: ReadonlySet<string> | undefined;
  readonly #call: PickerCall;
  readonly #modules: PickerStreamModules;
  readonly #options: PickerStreamOptions;
  readonly #onOver: () => void;
  readonly #startedMs: number;
  /** Aborts when the stream ends; there while somebody waits for that. */
  #gone: AbortController | undefined;
  #phase: Phase = 'begun';
  #modes: BodyModes | undefined;
  /** Whether nothing may be changed, and nothing is waited for. */
  #isShadow: boolean;
  /** Whether the gateway reads no answers. */
  #isObserved = false;
  #coming: ComingBody | undefined;
  /** Pieces of the body that came. */
  #pieces = 0;
  #hasBodyEnded = false;
  #hasTrailers = false;
  /** Whether the gateway has nothing more to say. */
  #isHalfClosed = false;
  #answer: ShownAnswer | undefined;
  #span: RequestSpan | undefined;

  /** `onOver` is called once, when nothing of it is left. */
  constructor(
    call: PickerCall,
    options: PickerStreamOptions,
    modules: PickerStreamModules,
    onOver: () => void,
  ) {
    this.#call = call;
    this.#options = options;
    this.#modules = modules;
    this.#onOver = onOver;
    this.#isShadow = options.isShadow;
    this.#startedMs = modules.clock.monotonicMs();
  }

  /** Takes the next message. What it throws ends the stream. */
  take(message: GatewayMessage): void {
    if (this.#phase === 'over') return;
    if (this.#modes === undefined) {
      this.#modes = bodyModesOf(message.protocolConfig);
      this.#isObserved = message.observabilityMode;
      this.#isShadow ||= this.#isObserved;
    }
    const { request } = message;
    switch (request?.$case) {
      case 'requestHeaders':
        this.#onRequestHeaders(request.value, message, this.#modes);
        break;
      case 'requestBody':
        this.#onRequestBody(request.value, this.#modes);
        break;
      case 'requestTrailers':
        this.#onRequestTrailers();
        break;
      case 'responseHeaders':
        this.#onResponseHeaders(request.value, message);
        break;
      case 'responseBody':
        this.#onResponseBody(request.value, this.#modes);
        break;
      case 'responseTrailers':
        this.#write(trailersAnswer('responseTrailers'));
        this.#answer?.end();
        break;
      default:
        throw new RpcError(
          'invalid_argument',
          'a message without a request, or with one that is not known here',
        );
    }
  }

  /** The gateway sends nothing more; what it waits for is still sent. */
  halfClose(): void {
    this.#isHalfClosed = true;
    if (this.#phase === 'deciding' && !this.#isShadow) return;
    this.#call.end();
    this.close();
  }

  /** The stream is over, whichever side ended it. May be called again. */
  close(): void {
    if (this.#phase !== 'over') this.#finish(0);
  }

  /** Ends what has taken too long. */
  check(nowMs: number): void {
    const ageMs = nowMs - this.#startedMs;
    const isSilent = this.#phase === 'begun' && ageMs >= FIRST_MESSAGE_MS;
    if (isSilent || ageMs >= this.#options.totalTimeoutMs) {
      this.#call.end();
      this.close();
    } else if (this.#phase === 'body' && ageMs >= MAX_BODY_MS)
      this.#refuse(
        new OpenAiError(408, 'The body of the request did not come in time.', { code: 'body_timeout' }),
      );
  }

  /** Ends it now, because this process does. */
  cut(): void {
    if (this.#phase === 'begun' || this.#phase === 'body' || this.#phase === 'deciding')
      this.#refuse(drainingError());
    this.#call.end();
    this.close();
  }

  watchClient(): ClientWatch {
    // Made when it is asked for: an abort that nobody listens to costs more than all else at the end of a request.
    const gone = new AbortController();
    if (this.#phase === 'over') gone.abort();
    else this.#gone = gone;
    return {
      gone: gone.signal,
      end: () => {
        if (this.#gone === gone) this.#gone = undefined;
      },
    };
  }

  #onRequestHeaders({ headers, endOfStream }: ShownHeaders, about: GatewayMessage, modes: BodyModes): void {
    if (this.#phase !== 'begun')
      throw new RpcError('invalid_argument', 'request_headers came after the request had begun');
    this.headers = headers;
    const method = headerOf(this.headers, ':method') ?? '';
    ({ api: this.api, keptId: this.keptId } = apiAskedBy(method, headerOf(this.headers, ':path') ?? '/'));
    this.subset = readSubset(about.metadataContext);
    this.#hasBodyEnded = endOfStream;
    const hasBody =
      !endOfStream && modes.request !== 'none' && (modes.request !== 'streamed' || modes.sendsBodyEarly);
    if (this.#isShadow) this.#write(headersAnswer('requestHeaders'));
    const problem = this.#modules.findProblem() ?? (hasBody ? this.#findHeaderProblem() : undefined);
    if (problem !== undefined) this.#refuse(problem);
    else if (!hasBody) this.#decide(undefined);
    else {
      this.#phase = 'body';
      this.#coming = this.#modules.bodies.begin(this, headerOf(this.headers, 'content-type'));
      if (modes.request === 'buffered' && !this.#isShadow) this.#write(headersAnswer('requestHeaders'));
    }
  }

  /** What an API says of its bodies; on other paths any body may stand. */
  #findHeaderProblem(): OpenAiError | undefined {
    if (this.api === OTHER_PATH || this.api === KEPT_RESPONSE) return undefined;
    return this.#modules.bodies.findHeaderProblem({ headers: this.headers }, this.api.reads);
  }

  #onRequestBody({ body, endOfStream }: HttpBody, { request: mode }: BodyModes): void {
    if (this.#phase === 'begun')
      throw new RpcError('invalid_argument', 'request_body came before request_headers');
    if (this.#phase === 'deciding' && !this.#isShadow)
      throw new RpcError('invalid_argument', 'request_body came after the end of the body');
    if (this.#isShadow || this.#phase === 'decided')
      this.#write(bodyAnswer('requestBody', mode, body, endOfStream));
    if (this.#phase !== 'body') return;
    const problem = this.#pieces >= MAX_PIECES ? tooManyPieces() : this.#coming?.add(body);
    if (problem !== undefined) {
      this.#refuse(problem);
      return;
    }
    this.#pieces += 1;
    this.#hasBodyEnded = endOfStream;
    // Of a body that is buffered in part the rest does not come.
    if (endOfStream || mode === 'buffered') this.#decide(this.#coming?.end());
  }

  #onRequestTrailers(): void {
    if (this.#phase === 'begun')
      throw new RpcError('invalid_argument', 'request_trailers came before request_headers');
    if (this.#isShadow || this.#phase === 'decided') this.#write(trailersAnswer('requestTrailers'));
    else this.#hasTrailers = true;
    if (this.#phase === 'body') this.#decide(this.#coming?.end());
  }

  #decide(body: ReadBody | undefined): void {
    this.#phase = 'deciding';
    this.#coming = undefined;
    if (this.api !== OTHER_PATH && !this.#isShadow)
      this.#span = this.#modules.tracer?.start(this.headers, this.api.path);
    this.#modules.picking.pick(this, body).then(
      (chosen) => this.#onChosen(chosen, body),
      (error: unknown) => this.#onNotChosen(error),
    );
  }

  #onChosen(chosen: Chosen, body: ReadBody | undefined): void {
    if (this.#phase !== 'deciding') {
      // Its stream ended meanwhile.
      chosen.end();
      chosen.route.release();
      return;
    }
    this.#phase = 'decided';
    this.#span?.decided(chosen.route.decision, chosen.sent);
    this.#answerWith(chosen, body);
    if (this.#isShadow) this.#modules.bodies.release(this);
    else this.#send(chosen, body?.bytes);
    if (this.#isHalfClosed) this.halfClose();
  }

  #send(chosen: Chosen, bytes: Buffer | undefined): void {
    const changes = traced(chosen.changes, this.headers, this.#span);
    const answers = chosenAnswers(
      { changes, body: chosen.body },
      {
        mode: this.#modes?.request ?? 'none',
        bytes,
        pieces: this.#pieces,
        hasBodyEnded: this.#hasBodyEnded,
      },
    );
    if (this.#hasTrailers) answers.push(trailersAnswer('requestTrailers'));
    const last = answers.pop();
    for (const answer of answers) this.#write(answer);
    // The body counts as held until the gateway has taken it back.
    if (last !== undefined) this.#write(last, () => this.#modules.bodies.release(this));
  }

  #onNotChosen(reason: unknown): void {
    if (this.#phase !== 'deciding') return;
    const error = notPickedError(reason);
    if (error.status === 500)
      this.#modules.logger.error(
        { error: reason, path: this.api.path },
        'No endpoint could be chosen for a request',
      );
    this.#refuse(error);
  }

  #answerWith(chosen?: Chosen, body?: ReadBody): void {
    this.#answer ??= new ShownAnswer(
      { api: this.api, isShadow: this.#isShadow, startedMs: this.#startedMs, span: this.#span },
      this.#modules,
    );
    if (chosen === undefined) return;
    const sketch = body === undefined ? 0 : sketchOf(body.bytes);
    this.#answer.choose(chosen, headerOf(this.headers, DESTINATION), sketch);
  }

  #onResponseHeaders({ headers, endOfStream }: ShownHeaders, { metadataContext }: GatewayMessage): void {
    this.#write(headersAnswer('responseHeaders'));
    this.#answerWith();
    this.#answer?.begin(headers, readServed(metadataContext));
    if (endOfStream) this.#answer?.end();
  }

  #onResponseBody({ body, endOfStream }: HttpBody, { response: mode }: BodyModes): void {
    this.#write(bodyAnswer('responseBody', mode, body, endOfStream));
    this.#answer?.add(body);
    if (endOfStream) this.#answer?.end();
  }

  #refuse(error: OpenAiError): void {
    this.#modules.bodies.release(this);
    this.#coming = undefined;
    if (this.#isShadow) {
      // It goes on as it is; what becomes of it is seen without a worker.
      this.#phase = 'decided';
      this.#modules.pickerMetrics.shadow('would_refuse');
      if (this.#isHalfClosed) this.halfClose();
      return;
    }
    this.#write(refusal(error, this.api.shape));
    this.#call.end();
    this.#finish(error.status);
  }

  /** `status`: of a refusal; 0 for none. */
  #finish(status: number): void {
    const hasRequest = this.#phase !== 'begun';
    this.#phase = 'over';
    this.#gone?.abort();
    this.#gone = undefined;
    this.#coming = undefined;
    const { bodies, clock, metrics } = this.#modules;
    bodies.release(this);
    if (hasRequest || status !== 0) this.#count(status, clock.monotonicMs() - this.#startedMs, metrics);
    this.#onOver();
  }

  #count(status: number, durationMs: number, metrics: PickerStreamModules['metrics']): void {
    const end = this.#answer?.finish() ?? {
      status: CLIENT_CLOSED_REQUEST,
      isWhole: false,
      firstByteMs: undefined,
      usage: undefined,
    };
    const ended = status !== 0 ? 'refused' : end.isWhole ? 'complete' : 'client_gone';
    metrics.count({
      group: this.group,
      path: this.api.path,
      status: status === 0 ? end.status : status,
      ended,
      durationMs,
      firstByteMs: end.firstByteMs,
    });
    this.#span?.end({
      status: status === 0 ? end.status : status,
      ...(ended === 'complete' ? {} : { error: ended }),
      ...(end.usage === undefined ? {} : { usage: end.usage }),
    });
  }

  #write(message: ProcessingResponse, onTaken?: () => void): void {
    if (this.#isObserved) onTaken?.();
    else this.#call.write(message, onTaken);
  }
}

function tooManyPieces(): OpenAiError {
  return new OpenAiError(413, `The body comes in more than ${MAX_PIECES} pieces.`, {
    code: 'request_too_large',
  });
}
