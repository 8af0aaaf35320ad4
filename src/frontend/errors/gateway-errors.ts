import { OpenAiError } from './openai-error.js';

/** Characters of a path that an answer quotes. */
const MAX_QUOTED_CHARS = 256;

/** The answer to a request that needs the router of another process, which cannot be asked. */
export function routerUnavailableError(): OpenAiError {
  return new OpenAiError(503, 'The router of this server does not answer now.', {
    code: 'router_unavailable',
    retryAfterSeconds: 1,
  });
}

/** The answer for a path that is not served. */
export function notFoundError(method: string, path: string): OpenAiError {
  return new OpenAiError(404, `Invalid URL (${method} ${path.slice(0, MAX_QUOTED_CHARS)}).`, {
    code: 'unknown_url',
  });
}

/** The answer for a path that is served, but not with this method; `allow` names those that are: `GET, HEAD`. */
export function otherMethodError(method: string, path: string, allow: string): OpenAiError {
  const quoted = path.slice(0, MAX_QUOTED_CHARS);
  return new OpenAiError(405, `Not allowed to ${method} on ${quoted}; allowed: ${allow}.`, {
    code: 'method_not_supported',
    headers: { allow },
  });
}

/** What is wrong with a caller's `Authorization`. */
export type ApiKeyProblem = 'missing' | 'wrong';

const KEY_PROBLEMS: Readonly<Record<ApiKeyProblem, string>> = {
  missing:
    'You did not provide an API key. It is expected in the header Authorization: Bearer YOUR_KEY, or in x-api-key.',
  wrong: 'Incorrect API key provided.',
};

/** The answer to a caller whose key is missing or not one of ours. */
export function apiKeyError(problem: ApiKeyProblem): OpenAiError {
  return new OpenAiError(401, KEY_PROBLEMS[problem], {
    code: 'invalid_api_key',
    headers: { 'www-authenticate': 'Bearer' },
  });
}

/** The answer to a caller that showed no certificate where one is asked for. */
export function certificateError(): OpenAiError {
  return new OpenAiError(401, 'A client certificate must be shown here.', { code: 'no_client_certificate' });
}

/** The answer to a new request while running ones end, and to one that is not answered when this process ends. */
export function drainingError(): OpenAiError {
  return new OpenAiError(503, 'This server is shutting down.', {
    code: 'shutting_down',
    retryAfterSeconds: 1,
    headers: { connection: 'close' },
  });
}

/** The answer to a request that was sent before the answer to the one before it. */
export function pipelinedError(): OpenAiError {
  return new OpenAiError(503, 'This server takes one request at a time on a connection.', {
    code: 'pipelined',
    retryAfterSeconds: 1,
    headers: { connection: 'close' },
  });
}

/** The answer to a request that came through this program more often than any order of its frontends explains. */
export function loopError(): OpenAiError {
  return new OpenAiError(
    508,
    'This request comes back again and again: the address of a worker is that of a frontend; see --worker-urls and --advertise-engine.',
    { code: 'loop_detected' },
  );
}

/** The answer to a request when as many are open as may be. */
export function overloadedError(): OpenAiError {
  return new OpenAiError(503, 'This server has as many requests as it takes.', {
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
}

/** The answer to a request for which no connection can be opened, because this process can open no more of any. */
export function exhaustedError(): OpenAiError {
  return new OpenAiError(503, 'This server can open no more connections now.', {
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
}

/** The answer when only the log says what went wrong. */
export function internalError(): OpenAiError {
  return new OpenAiError(500, 'Something went wrong here; the log of this process says what.');
}
