import { EngineKind } from '../../../core/contract/enums.js';
import type { HttpGet } from '../../../edge/platform/net/http-get.js';
import { MAX_METRICS_BYTES, readMetrics } from '../../../engines/facts/prometheus-text.js';

/** What an engine's own metrics say of its work. */
export interface EngineLoad {
  /** Requests that run or wait; undefined where the engine does not say. */
  readonly requests: number | undefined;
  /** Whether it was started without a prefix cache; undefined where it does not say. */
  readonly isCachingOff: boolean | undefined;
  /** Prompt tokens that it has ever found in its cache; undefined where it does not count them. */
  readonly cachedTokens: number | undefined;
}

const NOTHING: EngineLoad = { requests: undefined, isCachingOff: undefined, cachedTokens: undefined };

/** Pages that say how many requests an engine has, the usual one first. */
const PAGES: Readonly<Record<number, readonly string[]>> = {
  [EngineKind.VLLM]: ['/metrics'],
  [EngineKind.SGLANG]: ['/v1/loads?format=prometheus', '/metrics'],
  [EngineKind.TENSORRT_LLM]: ['/prometheus/metrics'],
};

const RUNNING: readonly string[] = [
  'vllm:num_requests_running',
  'sglang:num_running_reqs',
  'sglang_num_running_reqs',
  'trtllm_num_requests_running',
];
const WAITING: readonly string[] = [
  'vllm:num_requests_waiting',
  'sglang:num_queue_reqs',
  'sglang_num_waiting_reqs',
  'trtllm_num_requests_waiting',
];
const CACHED = 'vllm:prefix_cache_hits_total';
const CONFIG = 'vllm:cache_config_info';
const WANTED: ReadonlySet<string> = new Set([...RUNNING, ...WAITING, CACHED, CONFIG]);

/** Asks an engine how busy it is. Never rejects: what cannot be read is not known. */
export async function readLoad(
  engineKind: EngineKind,
  baseUrl: string,
  { get, signal }: { readonly get: HttpGet; readonly signal: AbortSignal },
): Promise<EngineLoad> {
  const isCachingOff =
    engineKind === EngineKind.SGLANG ? await readRadixCacheOff(baseUrl, { get, signal }) : undefined;
  for (const page of PAGES[engineKind] ?? []) {
    const body = await read(`${baseUrl}${page}`, { get, signal });
    const load = body === undefined ? NOTHING : loadOf(body);
    if (load.requests !== undefined) return { ...load, isCachingOff: load.isCachingOff ?? isCachingOff };
  }
  return { ...NOTHING, isCachingOff };
}

/** Reads a metrics page; both running and waiting requests must be there. */
export function loadOf(page: string): EngineLoad {
  const { samples } = readMetrics(page, WANTED);
  const sum = (name: string): number | undefined => {
    const found = samples.get(name);
    return found === undefined
      ? undefined
      : found.reduce((total, { valueText }) => total + Number(valueText), 0);
  };
  const first = (names: readonly string[]): number | undefined =>
    names.map(sum).find((value) => value !== undefined);
  const running = first(RUNNING);
  const waiting = first(WAITING);
  const requests = running === undefined || waiting === undefined ? undefined : running + waiting;
  const caching = samples.get(CONFIG)?.map(({ labels }) => labels.get('enable_prefix_caching')) ?? [];
  return {
    requests: Number.isFinite(requests) ? requests : undefined,
    isCachingOff: caching.some((value) => value === 'False')
      ? true
      : caching.some((value) => value === 'True')
        ? false
        : undefined,
    cachedTokens: sum(CACHED),
  };
}

/** Whether SGLang says that it has no radix cache. */
async function readRadixCacheOff(
  baseUrl: string,
  modules: { readonly get: HttpGet; readonly signal: AbortSignal },
): Promise<boolean | undefined> {
  const body = await read(`${baseUrl}/server_info`, modules);
  const found = /"disable_radix_cache"\s*:\s*(true|false)/.exec(body ?? '')?.[1];
  return found === undefined ? undefined : found === 'true';
}

async function read(
  url: string,
  { get, signal }: { readonly get: HttpGet; readonly signal: AbortSignal },
): Promise<string | undefined> {
  try {
    const { status, body } = await get(url, { signal, maxBodyBytes: MAX_METRICS_BYTES });
    return status === 200 ? body : undefined;
  } catch {
    return undefined;
  }
}
