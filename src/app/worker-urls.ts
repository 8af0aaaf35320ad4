import type { GivenUrls } from '../fleet/catalogue/catalogue.js';

/** A list that cannot be read: what is allowed, and the part that is wrong. */
export interface WrongUrls {
  readonly allowed: string;
  readonly part: string;
}

const FORM = 'WORKER=http://HOST:PORT, with the worker as --workers or --kv-event-sources names it';

/** OpenAI's clients are given it, and a path would then be `/v1/v1/…`. */
const WITHOUT_V1 = 'URLs without /v1 at their end: /v1/… is appended to them';

/** Longest name of a worker, as in reports. */
const MAX_NAME_CHARS = 253;

/** Reads `10.0.0.1:50061=http://10.0.0.1:8000,…`. */
export function readWorkerUrls(items: readonly string[]): GivenUrls | WrongUrls {
  const urls = new Map<string, string>();
  for (const item of items) {
    const cut = item.indexOf('=');
    const name = item.slice(0, Math.max(cut, 0));
    const url = baseUrl(item.slice(cut + 1));
    if (name === '' || name.length > MAX_NAME_CHARS || url === undefined)
      return { allowed: FORM, part: item };
    if (url.endsWith('/v1')) return { allowed: WITHOUT_V1, part: item };
    if (urls.has(name)) return { allowed: 'a list that names each worker once', part: item };
    urls.set(name, url);
  }
  return urls;
}

/** Without a slash at its end, as paths are appended to it. */
function baseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, username, password, search, hash, href } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  if (`${username}${password}${search}${hash}` !== '') return undefined;
  return href.replace(/\/+$/, '');
}
