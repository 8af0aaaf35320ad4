import type { Decision } from '../../fleet/router/routing.js';
import type { CacheSource } from '../proxy/proxied-request.js';

/** Ports of URLs that name none. */
const USUAL_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * The worker that holds at least `leastTokens` more of a prompt than the chosen one, as llm-d's header
 * `x-kv-cache-source-host-port` names it: host and port of its engine, and the rank added to the port, which is how llm-d's
 * routing sidecar serves ranks. Undefined where there is none, or its address is not known.
 */
export function cacheSourceOf(
  { group, neighbour, cachedBlocks, tokensPerBlock }: Decision,
  leastTokens: number,
  baseUrlOf: (group: string, target: string) => string | undefined,
): CacheSource | undefined {
  if (neighbour === undefined) return undefined;
  if ((neighbour.cachedBlocks - cachedBlocks) * tokensPerBlock < leastTokens) return undefined;
  const baseUrl = baseUrlOf(group, neighbour.target);
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return undefined;
  const { hostname, port, protocol } = new URL(baseUrl);
  const first = Number(port === '' ? USUAL_PORTS[protocol] : port);
  return {
    hostPort: `${hostname}:${first + neighbour.rank}`,
    tokens: neighbour.cachedBlocks * tokensPerBlock,
  };
}
