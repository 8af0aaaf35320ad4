import { RoutingError } from '../../fleet/router/routing.js';
import { exhaustedError, internalError } from '../errors/gateway-errors.js';
import { notRoutedError, OpenAiError } from '../errors/openai-error.js';
import type { AttemptFailure } from './workers/attempt.js';

/** Seconds after which another try makes sense: a worker restarts, or a queue empties. */
const RETRY_AFTER_SECONDS = 2;

/** What a client may know of a failure: never an address. */
const FAILED: Readonly<Record<AttemptFailure, readonly [status: number, text: string]>> = {
  unreachable: [502, 'could not be reached'],
  exhausted: [503, ''],
  closed: [502, 'closed the connection before it answered'],
  bad_answer: [502, 'gave an answer that cannot be read'],
  silent: [504, 'did not answer'],
  busy: [503, 'has as many requests as it may'],
  unavailable: [503, 'cannot take requests now'],
  error: [502, 'answered with an error of its own'],
  bad_request: [400, ''],
};

/** The answer when no worker has answered; `tried` counts those that were asked. */
export function notAnsweredError(failure: AttemptFailure, tried: number): OpenAiError {
  const [status, text] = FAILED[failure];
  if (failure === 'bad_request') {
    return new OpenAiError(status, 'The request cannot be sent on: its path or a header is not valid.');
  }
  if (failure === 'exhausted') return exhaustedError();
  const message = tried === 1 ? `The worker ${text}.` : `${tried} workers were tried; the last one ${text}.`;
  return new OpenAiError(status, message, {
    code: `worker_${failure}`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}

/** What ends a stream whose worker ended it, or said nothing any more. */
export function cutError(): OpenAiError {
  return new OpenAiError(502, 'The worker ended the answer before its end.', { code: 'worker_cut' });
}

/** The answer when the time of a request ran out before a worker's answer began. */
export function tooLateError(): OpenAiError {
  return new OpenAiError(504, 'No worker answered within the time that a request may take.', {
    code: 'timeout',
  });
}

/** The answer when no worker could be chosen for a request. */
export function notPickedError(error: unknown): OpenAiError {
  if (error instanceof OpenAiError) return error;
  if (error instanceof RoutingError) return notRoutedError(error);
  return internalError();
}
