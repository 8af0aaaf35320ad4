import type { ServerResponse } from 'node:http';
import { jsonText } from '../../core/text/printable.js';
import type { OpenAiError } from './openai-error.js';

/** How one API writes what went wrong, so that its clients understand it. */
export interface ApiShape {
  readonly name: 'openai' | 'responses' | 'anthropic';
  /** The body of a refusal, JSON with a line feed. */
  body(error: OpenAiError): string;
  /**
   * The last event of a stream that breaks off after it has begun, with the
   * blank line that ends it. It begins a line of its own: where the stream stands
   * within an event, that one has to be ended before.
   */
  streamEvent(error: OpenAiError): string;
}

/**
 * OpenAI's errors. Within a stream of chats and completions an event without a
 * name has the same object, which vLLM, SGLang and OpenAI's clients take for the error of the request.
 */
export const OPENAI_SHAPE: ApiShape = {
  name: 'openai',
  body: ({ body }) => body,
  streamEvent: ({ body }) => `data: ${body.trimEnd()}\n\n`,
};

/** OpenAI's Responses: the same refusals, and the event `error` within a stream. */
export const RESPONSES_SHAPE: ApiShape = {
  name: 'responses',
  body: ({ body }) => body,
  // Which numbers the events before had is not looked at; clients read it of no error.
  streamEvent: ({ code, message, param, type }) =>
    `event: error\ndata: ${jsonText({ type: 'error', sequence_number: 0, code: code ?? type, message, param })}\n\n`,
};

/** Anthropic's Messages: an object with two members, and the event `error` with the same object. */
export const ANTHROPIC_SHAPE: ApiShape = {
  name: 'anthropic',
  body: (error) => `${jsonText(anthropicError(error))}\n`,
  streamEvent: (error) => `event: error\ndata: ${jsonText(anthropicError(error))}\n\n`,
};

function anthropicError({ status, message }: OpenAiError): object {
  return { type: 'error', error: { type: anthropicType(status), message } };
}

/** Types by status, of https://docs.anthropic.com/en/api/errors; there `overloaded_error` comes with 529. */
const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);

function anthropicType(status: number): string {
  return ANTHROPIC_TYPES.get(status) ?? (status < 500 ? 'invalid_request_error' : 'api_error');
}

/** A refusal as one API writes it. */
export interface WrittenError {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Writes a refusal in the shape of an API. */
export function writeError(error: OpenAiError, shape: ApiShape): WrittenError {
  const body = shape.body(error);
  if (body === error.body) return error;
  return { headers: { ...error.headers, 'content-length': String(Buffer.byteLength(body)) }, body };
}

/** Sends a refusal as a whole answer. Nothing may have been sent before. */
export function sendError(response: ServerResponse, error: OpenAiError, shape: ApiShape): void {
  const { headers, body } = writeError(error, shape);
  response.writeHead(error.status, headers);
  response.end(body);
}
