import type { HttpGet } from '../../../edge/platform/net/http-get.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import type { LoadMetrics } from '../../../engines/descriptor/load-metrics.js';
import { MAX_METRICS_BYTES, readMetrics } from '../../../engines/facts/prometheus-text.js';
import type { EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';

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

/** Asks an engine how busy it is. Never rejects: what cannot be read is not known. */
export async function readLoad(
  engineKind: EngineKind,
  baseUrl: string,
  { get, signal }: { readonly get: HttpGet; readonly signal: AbortSignal },
): Promise<EngineLoad> {
  const load = engineOfKind(engineKind)?.load;
  if (load === undefined) return NOTHING;
  const isCachingOff = await readCachingOff(load, baseUrl, { get, signal });
  for (const page of load.pages) {
    const body = await read(`${baseUrl}${page}`, { get, signal });
    const found = body === undefined ? NOTHING : loadOf(body, load);
    if (found.requests !== undefined) return { ...found, isCachingOff: found.isCachingOff ?? isCachingOff };
  }
  return { ...NOTHING, isCachingOff };
}

/** Reads a metrics page; both running and waiting requests must be there. @internal */
export function loadOf(page: string, metrics: LoadMetrics): EngineLoad {
  const { running: runningNames, waiting: waitingNames, cachedTokens, cachingLabel } = metrics;
  const wanted = [...runningNames, ...waitingNames, cachedTokens, cachingLabel?.family];
  const { samples } = readMetrics(page, new Set(wanted.filter((name) => name !== undefined)));
  const sum = (name: string): number | undefined => {
    const found = samples.get(name);
    return found === undefined
      ? undefined
      : found.reduce((total, { valueText }) => total + Number(valueText), 0);
  };
  const first = (names: readonly string[]): number | undefined =>
    names.map(sum).find((value) => value !== undefined);
  const running = first(runningNames);
  const waiting = first(waitingNames);
  const requests = running === undefined || waiting === undefined ? undefined : running + waiting;
  const configs = cachingLabel === undefined ? undefined : samples.get(cachingLabel.family);
  const caching = configs?.map(({ labels }) => labels.get(cachingLabel?.label ?? '')) ?? [];
  return {
    requests: Number.isFinite(requests) ? requests : undefined,
    isCachingOff: caching.some((value) => value === 'False')
      ? true
      : caching.some((value) => value === 'True')
        ? false
        : undefined,
    cachedTokens: cachedTokens === undefined ? undefined : sum(cachedTokens),
  };
}

/** Whether a page of the engine says that it has no prefix cache; undefined where it does not say. */
async function readCachingOff(
  { cachingPage }: LoadMetrics,
  baseUrl: string,
  modules: { readonly get: HttpGet; readonly signal: AbortSignal },
): Promise<boolean | undefined> {
  if (cachingPage === undefined) return undefined;
  const body = await read(`${baseUrl}${cachingPage.path}`, modules);
  const found = cachingPage.isOff.exec(body ?? '')?.[1];
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
    // What cannot be read is not known; the canary is judged without it.
    return undefined;
  }
}
