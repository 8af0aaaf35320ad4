import { addTo } from '../core/data/group-by.js';
import { isEventEndpoint } from '../worker/sidecar/kv-events/event-endpoint.js';

/** The engines of `--kv-event-sources`, by the name of their worker; each has its ranks in order. */
export type DirectSources = ReadonlyMap<string, readonly string[]>;

/** A list that cannot be read: what is allowed, and the part that is wrong. */
export interface WrongSources {
  readonly allowed: string;
  readonly part: string;
}

const FORM = 'WORKER=tcp://HOST:PORT, with further URLs of the same worker for its further ranks';

/** Longest name of a worker, as in reports. */
const MAX_NAME_CHARS = 253;

/**
 * Reads `w-1=tcp://a:5557,tcp://a:5558,w-2=tcp://b:5557`: a URL without a name
 * belongs to the worker before it.
 */
export function readDirectSources(items: readonly string[]): DirectSources | WrongSources {
  const sources = new Map<string, string[]>();
  const seen = new Set<string>();
  let last: string | undefined;
  for (const item of items) {
    const cut = item.indexOf('=');
    const name = cut === -1 ? last : item.slice(0, cut);
    const url = item.slice(cut + 1);
    if (name === undefined || name === '' || name.length > MAX_NAME_CHARS || !isEventEndpoint(url))
      return { allowed: FORM, part: item };
    if (seen.has(url)) return { allowed: 'a list that names each URL once', part: item };
    seen.add(url);
    addTo(sources, name, url);
    last = name;
  }
  return sources;
}
