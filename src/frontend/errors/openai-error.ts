import type { Reason } from '../../core/agreement/view/snapshot.js';
import { capitalised } from '../../core/text/capitalised.js';
import { jsonText } from '../../core/text/printable.js';
import type { RoutingError, RoutingErrorCode } from '../../fleet/router/routing.js';

/** The kinds of errors that OpenAI's clients know: what the caller did wrong, or what went wrong here. */
export type OpenAiErrorType = 'invalid_request_error' | 'server_error';

export interface OpenAiErrorOptions {
  /** Default: `invalid_request_error` below 500, `server_error` from there. */
  readonly type?: OpenAiErrorType;
  /** The field of the request that is wrong. Default none. */
  readonly param?: string;
  /** For programs: `model_not_found`. Default none. */
  readonly code?: string;
  /** Seconds after which it is worth another try. */
  readonly retryAfterSeconds?: number;
  /** Headers beside those that every error has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal, written here in the shape of OpenAI's API: `{"error":{"message","type","param","code"}}`; `api-shapes.ts` has the other shapes. */
export class OpenAiError extends Error {
  override readonly name = 'OpenAiError';
  /** 400 to 599. */
  readonly status: number;
  readonly type: OpenAiErrorType;
  readonly param: string | null;
  readonly code: string | null;
  /** All that the answer carries; `content-length` with them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's body. */
  readonly body: string;

  constructor(status: number, message: string, options: OpenAiErrorOptions = {}) {
    super(message);
    this.status = status;
    this.type = options.type ?? (status < 500 ? 'invalid_request_error' : 'server_error');
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.body = `${jsonText({
      error: { message, type: this.type, param: this.param, code: this.code },
    })}\n`;
    this.headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(this.body)),
      ...(options.retryAfterSeconds === undefined
        ? {}
        : { 'retry-after': String(options.retryAfterSeconds) }),
      ...options.headers,
    };
  }
}

/** Seconds to `Retry-After` while nothing can be served: reports come every few seconds, gates open within one. */
const RETRY_AFTER_SECONDS = 2;

/** Most reasons that one answer quotes; the status page has them all. */
const MAX_REASONS = 5;

const NOT_ROUTED: Readonly<Record<RoutingErrorCode, string>> = {
  unknown_group: 'No worker serves this model now.',
  gate_shut: 'No request is routed until the workers of this model agree.',
  no_index: 'No request is routed until the index of this model exists.',
  no_worker: 'No worker of this model can take a request now.',
  prompt_too_long: 'The prompt, its LoRA name or its cache salt is longer than is taken.',
};

/** The answer when no worker can be chosen: 503, worth another try, where the fault is not the prompt's. */
export function notRoutedError({
  code,
  reasons,
}: Pick<RoutingError, 'code'> & Partial<Pick<RoutingError, 'reasons'>>): OpenAiError {
  if (code === 'prompt_too_long') return new OpenAiError(400, NOT_ROUTED[code], { code });
  return new OpenAiError(503, [NOT_ROUTED[code], ...sayReasons(reasons ?? [])].join(' '), {
    code,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

function sayReasons(reasons: readonly Reason[]): string[] {
  const said = reasons.slice(0, MAX_REASONS).map(({ text }) => asSentence(text));
  const more = reasons.length - said.length;
  return more > 0 ? [...said, `And ${more} more.`] : said;
}

function asSentence(text: string): string {
  const capital = capitalised(text);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
