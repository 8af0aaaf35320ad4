import type { IncomingHttpHeaders } from 'node:http';
import type { Decision, PairDecision } from '../../fleet/router/routing.js';
import type { CacheSource, ProxiedRequest } from './proxied-request.js';
import type { ProxyOptions } from './proxy-options.js';

/** Headers that speak of one connection alone (RFC 9110, 7.6.1), whatever `Connection` names. */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/**
 * Headers of a client that a worker does not get: the host and the length are
 * of its own connection, an expectation was met when the body was taken, an
 * answer that is compressed would be held back, and ranks are chosen here.
 */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'accept-encoding',
  'content-length',
  'expect',
  'host',
  'x-data-parallel-rank',
]);

/** Headers of a worker that a client does not get: this process describes its decisions, and says which origins may ask. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age',
  'x-kv-accord-cached-blocks',
  'x-kv-accord-pair',
  'x-kv-accord-prefill-worker',
  'x-kv-accord-prefill-worker-address',
  'x-kv-accord-routing-mode',
  'x-kv-accord-unsplit',
  'x-kv-accord-worker',
  'x-kv-accord-worker-address',
]);

/** Where clients show their keys: OpenAI's and Anthropic's. */
const KEY_HEADERS: ReadonlySet<string> = new Set(['authorization', 'x-api-key']);

/** Names the worker that holds the longest prefix; llm-d's routing sidecar has vLLM fetch the blocks from there. */
const CACHE_SOURCE = 'x-kv-cache-source-host-port';

/** How many tokens of the prompt that worker holds. */
const CACHE_SOURCE_TOKENS = 'x-kv-accord-cache-source-tokens';

/** No caller says from where an engine fetches blocks while this process does. */
const SOURCE_HEADERS: ReadonlySet<string> = new Set([CACHE_SOURCE, CACHE_SOURCE_TOKENS]);

/** This proxy's name in `Via` (RFC 9110, 7.6.3). */
const VIA = '1.1 kv-accord';

/** How often a request came through this proxy, or another of its kind, before. */
export function passesOf({ via }: IncomingHttpHeaders): number {
  return via === undefined ? 0 : via.split(VIA).length - 1;
}

/** Who sent a request. */
export interface Caller {
  /** Its address; undefined when its connection is gone. */
  readonly address: string | undefined;
  readonly isEncrypted: boolean;
}

/**
 * The headers of a request as a worker gets them, names and values in turn.
 * `Host`, `Connection` and `Content-Length` are set by the sender. The
 * caller is appended to `X-Forwarded-For`; `X-Forwarded-Proto` and
 * `X-Forwarded-Host` of a proxy in front are kept. A worker that may have no
 * keys gets neither the caller's nor that of the engines. `source`: another worker from which this one may fetch blocks;
 * `none` where there is none, and the caller's word for it counts as little. Absent: the caller's headers go on. @internal
 */
export function forwardedHeaders(
  headers: IncomingHttpHeaders,
  caller: Caller,
  { passesAuthorization, engineApiKey }: Pick<ProxyOptions, 'passesAuthorization' | 'engineApiKey'>,
  decision: Decision,
  mayHaveKeys: boolean,
  source?: CacheSource | 'none',
): string[] {
  const named = namedBy(headers.connection);
  const forwarded: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || NOT_FORWARDED.has(name) || named?.has(name) === true) continue;
    if (name === 'via' || name === 'x-forwarded-for') continue;
    if (source !== undefined && SOURCE_HEADERS.has(name)) continue;
    if (KEY_HEADERS.has(name) && !(passesAuthorization && engineApiKey === undefined && mayHaveKeys))
      continue;
    if (typeof value === 'string') forwarded.push(name, value);
    else for (const one of value) forwarded.push(name, one);
  }
  if (engineApiKey !== undefined && mayHaveKeys) forwarded.push('authorization', `Bearer ${engineApiKey}`);
  forwarded.push('accept-encoding', 'identity', 'via', joined(headers['via'], VIA));
  if (caller.address !== undefined)
    forwarded.push('x-forwarded-for', joined(headers['x-forwarded-for'], caller.address));
  if (headers['x-forwarded-proto'] === undefined)
    forwarded.push('x-forwarded-proto', caller.isEncrypted ? 'https' : 'http');
  if (headers['x-forwarded-host'] === undefined && headers.host !== undefined)
    forwarded.push('x-forwarded-host', headers.host);
  if (source !== undefined && source !== 'none')
    forwarded.push(CACHE_SOURCE, source.hostPort, CACHE_SOURCE_TOKENS, String(source.tokens));
  // vLLM reads it for chat and completions (vllm-project/vllm#24945), SGLang since
  // sgl-project/sglang#19832; where an engine does not read it, it balances its ranks itself.
  if (decision.rankCount > 1) forwarded.push('x-data-parallel-rank', String(decision.rank));
  return forwarded;
}

/** The headers of a request as the worker of a decision gets them, with the keys that it may have. */
export function headersFor(
  { headers, cacheSourceOf }: Pick<ProxiedRequest, 'headers' | 'cacheSourceOf'>,
  caller: Caller,
  options: Pick<ProxyOptions, 'passesAuthorization' | 'engineApiKey' | 'mayHaveKeys'>,
  decision: Decision,
  baseUrl: string,
): string[] {
  // Asked only where there is a key: a refusal is logged.
  const hasKey =
    options.engineApiKey !== undefined ||
    (options.passesAuthorization &&
      (headers.authorization !== undefined || headers['x-api-key'] !== undefined));
  const mayHaveKeys = hasKey && options.mayHaveKeys(decision, baseUrl);
  const source = cacheSourceOf === undefined ? undefined : (cacheSourceOf(decision) ?? 'none');
  return forwardedHeaders(headers, caller, options, decision, mayHaveKeys, source);
}

/** What of an answer's headers decides how it is passed on. */
export interface PassedHeaders {
  /** Names and values in turn, for `ServerResponse.writeHead`. */
  readonly headers: string[];
  readonly isEventStream: boolean;
  /** Whether it is a page for a browser, which no engine answers. */
  readonly isHtml: boolean;
  /** Whether they say the body's length. */
  readonly hasLength: boolean;
  /** Whether the body is as its `Content-Type` says, without a compression over it. */
  readonly isPlain: boolean;
}

/** The headers of an answer as a client gets them. `raw` has names and values in turn, as they came. */
export function passedHeaders(raw: readonly (Buffer | string)[]): PassedHeaders {
  const headers: string[] = [];
  let named: ReadonlySet<string> | undefined;
  let isChunked = false;
  let isEventStream = false;
  let isHtml = false;
  let isPlain = true;
  let hasLength = false;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = latin1(raw[at]);
    const value = latin1(raw[at + 1]);
    const key = name.toLowerCase();
    if (key === 'connection') named = union(named, namedBy(value));
    else if (key === 'transfer-encoding') isChunked = true;
    else if (key === 'content-length') hasLength = true;
    else if (key === 'content-encoding') isPlain = false;
    else if (key === 'content-type') {
      isEventStream = /^\s*text\/event-stream\b/i.test(value);
      isHtml = /^\s*text\/html\b/i.test(value);
    }
    if (!NOT_PASSED.has(key)) headers.push(name, value);
  }
  if (named !== undefined || isChunked) {
    dropNamed(headers, (key) => named?.has(key) === true || (isChunked && key === 'content-length'));
  }
  return { headers, isEventStream, isHtml, hasLength: hasLength && !isChunked, isPlain };
}

/** Headers that show a client how its request was routed. */
export function decisionHeaders(decision: Decision): string[] {
  const { workerId, target, routingMode, pair, unsplit } = decision;
  // Of two workers the one that computes the prompt is asked for what is cached.
  const { cachedBlocks } = pair?.prefill ?? decision;
  return [
    'x-kv-accord-worker',
    workerId === '' ? target : workerId,
    'x-kv-accord-worker-address',
    target,
    'x-kv-accord-cached-blocks',
    String(cachedBlocks),
    'x-kv-accord-routing-mode',
    routingMode,
    ...(pair === undefined
      ? []
      : [
          'x-kv-accord-prefill-worker',
          pair.prefill.workerId === '' ? pair.prefill.target : pair.prefill.workerId,
          'x-kv-accord-prefill-worker-address',
          pair.prefill.target,
          'x-kv-accord-pair',
          pairText(pair),
        ]),
    ...(unsplit === undefined ? [] : ['x-kv-accord-unsplit', unsplit]),
  ];
}

/** `nixl; class=nvlink_fabric; tokens=640; expected-ms=12.5`. */
function pairText({ protocol, pairClass, transferredTokens, expectedTransferMs }: PairDecision): string {
  const transfer =
    transferredTokens === undefined || expectedTransferMs === undefined
      ? ''
      : `; tokens=${transferredTokens}; expected-ms=${expectedTransferMs.toFixed(1)}`;
  return `${protocol}; class=${pairClass}${transfer}`;
}

/** The further headers that a `Connection` header makes hop-by-hop; undefined for none. */
function namedBy(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return undefined;
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return new Set(names);
}

function union(
  a: ReadonlySet<string> | undefined,
  b: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return new Set([...a, ...b]);
}

function dropNamed(headers: string[], isDropped: (key: string) => boolean): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (isDropped((headers[at] as string).toLowerCase())) headers.splice(at, 2);
  }
}

function joined(before: string | string[] | undefined, own: string): string {
  if (before === undefined || before.length === 0) return own;
  return `${typeof before === 'string' ? before : before.join(', ')}, ${own}`;
}

function latin1(bytes: Buffer | string | undefined): string {
  return typeof bytes === 'string' ? bytes : (bytes?.toString('latin1') ?? '');
}
