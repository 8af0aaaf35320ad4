import { askedUrl } from '../../edge/platform/net/http-get.js';
import { excerpt } from '../../edge/platform/probe-error.js';
import { type HttpAnswer, ProbeError, type ProbeModules } from './probe.js';

/**
 * Gets one endpoint of an engine and takes only 200 for an answer; every other
 * status becomes a `ProbeError` that says what it means for a probe.
 * `maxBodyBytes` is for what may be longer than the client's own bound.
 */
export async function ask(
  url: string,
  modules: Pick<ProbeModules, 'httpGet'>,
  signal: AbortSignal,
  maxBodyBytes?: number,
): Promise<HttpAnswer> {
  const answer = await modules.httpGet(url, {
    signal,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
  });
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
      throw new ProbeError('bad_answer', origin, explainRefusedKey(answer.status));
    default:
      throw new ProbeError('bad_answer', origin, `status ${answer.status}${saying}`);
  }
}

/** What a status of 401 or 403 means, and the cure. */
export function explainRefusedKey(status: number): string {
  return `the engine wants an API key (status ${status}): name the file with the right one by --engine-api-key-file`;
}
