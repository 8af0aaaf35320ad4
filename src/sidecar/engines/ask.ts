import { askedUrl } from '../../platform/http-get.js';
import { excerpt } from '../../platform/probe-error.js';
import { type HttpAnswer, ProbeError, type ProbeModules } from './probe.js';

/**
 * Gets one endpoint of an engine and takes only 200 for an answer; every other
 * status becomes a `ProbeError` that says what it means for a probe.
 */
export async function ask(
  url: string,
  modules: Pick<ProbeModules, 'httpGet'>,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const answer = await modules.httpGet(url, { signal });
  if (answer.status === 200) return answer;
  const origin = askedUrl(url);
  const saying = answer.body.trim() === '' ? '' : `: ${excerpt(answer.body.trim())}`;
  switch (answer.status) {
    case 404:
    case 405:
    case 501:
      throw new ProbeError('not_here', origin, `the engine has no such endpoint (status ${answer.status})`);
    case 503:
      throw new ProbeError('not_ready', origin, `the engine is not ready (status 503)${saying}`);
    case 401:
    case 403:
      throw new ProbeError(
        'bad_answer',
        origin,
        `the engine refuses (status ${answer.status}); it was started with an API key that kv-accord was not given`,
      );
    default:
      throw new ProbeError('bad_answer', origin, `status ${answer.status}${saying}`);
  }
}

/** A JSON object as it came: nothing about its fields is known. */
export type JsonObject = { readonly [field: string]: unknown };

/** Whether a value is an object with fields, not null and not a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads a text that must be one JSON object. Throws a `ProbeError` that shows how it begins. */
export function parseJsonObject(text: string, origin: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProbeError('bad_answer', origin, `expected a JSON object, got ${describeText(text)}`);
  }
  if (isJsonObject(value)) return value;
  throw new ProbeError('bad_answer', origin, `expected a JSON object, got ${excerpt(text)}`);
}

/** Says of a text that is no JSON what it looks like, so that a wrong port is recognised at once. */
function describeText(text: string): string {
  const start = text.trimStart();
  if (start === '') return 'an empty body';
  if (start.startsWith('<')) return `HTML or XML: ${excerpt(start)}`;
  return `${text.length} characters that are no JSON (cut off?): ${excerpt(start)}`;
}
