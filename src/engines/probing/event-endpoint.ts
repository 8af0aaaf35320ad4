import { excerpt } from '../../edge/platform/probe-error.js';
import type { ProbeTarget } from './probe.js';

/** Longest endpoint that is taken. */
const MAX_ENDPOINT_CHARS = 512;
/** Hosts that mean "every address of this machine" where a socket binds, and nothing where one connects. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::', '[::]']);

/** The host on which an engine is asked; undefined when only files are read. */
export function engineHost(target: ProbeTarget): string | undefined {
  if (target.httpBaseUrl !== undefined && URL.canParse(target.httpBaseUrl))
    return new URL(target.httpBaseUrl).hostname;
  const colon = target.grpcAddress?.lastIndexOf(':') ?? -1;
  return colon > 0 ? target.grpcAddress?.slice(0, colon) : undefined;
}

/** Where a ZMQ publisher can be reached, or why it cannot. */
export type DialableEndpoint =
  | { readonly type: 'endpoint'; readonly endpoint: string }
  | { readonly type: 'refused'; readonly reason: string };

/**
 * Makes the endpoint on which an engine binds into one to connect to: a
 * wildcard host becomes the host on which the engine is asked, and `rank` is
 * added to the port, as vLLM and SGLang do for each data-parallel rank.
 */
export function dialable(endpoint: string, host: string | undefined, rank = 0): DialableEndpoint {
  const refuse = (why: string): DialableEndpoint => ({
    type: 'refused',
    reason: `${excerpt(endpoint)} ${why}`,
  });
  if (endpoint.length > MAX_ENDPOINT_CHARS) return refuse('is too long for an endpoint');
  if (endpoint.startsWith('ipc://')) {
    return rank === 0
      ? { type: 'endpoint', endpoint }
      : refuse('cannot be shared by several data-parallel ranks');
  }
  if (!endpoint.startsWith('tcp://')) return refuse('is neither tcp:// nor ipc://');
  const colon = endpoint.lastIndexOf(':');
  const named = endpoint.slice('tcp://'.length, colon);
  const portText = endpoint.slice(colon + 1);
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) + rank : Number.NaN;
  if (!(port >= 1 && port <= 65_535) || named === '') return refuse('has no host and port');
  if (!WILDCARD_HOSTS.has(named)) return { type: 'endpoint', endpoint: `tcp://${named}:${port}` };
  if (host === undefined) return refuse("is a wildcard, and the engine's host is not known");
  return { type: 'endpoint', endpoint: `tcp://${host}:${port}` };
}

/**
 * Whether vLLM's publisher connects to this endpoint instead of binding it, so
 * that the subscriber has to bind: it binds only for `*`, `::`, ipc and inproc
 * (`vllm/distributed/kv_events.py`).
 */
export function vllmPublisherConnects(endpoint: string): boolean {
  return endpoint.startsWith('tcp://') && !endpoint.includes('*') && !endpoint.includes('::');
}

/**
 * The same of SGLang's publisher, by the host of its endpoint as it was
 * configured: it binds every wildcard (`sglang/srt/disaggregation/kv_events.py`).
 */
export function sglangPublisherConnects(host: string): boolean {
  return !WILDCARD_HOSTS.has(host);
}
