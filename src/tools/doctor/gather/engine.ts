import { DEFAULT_JSON_BOUNDS, parseJson } from '../../../edge/platform/data/bounded-json.js';
import { excerpt } from '../../../edge/platform/probe-error.js';
import type { EvidencePart } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { type EngineFacts, engineFacts } from './engine-facts.js';
import { metricsPart, type PageModules } from './metrics.js';
import { notRead, outcome } from './outcomes.js';

/** Largest `/server_info`: with hundreds of ranks it has some MiB. */
const MAX_SERVER_INFO_BYTES = 4 * 1024 * 1024;

/**
 * Asks a program at an HTTP base URL, an engine or a frontend, for its settings:
 * its metrics, and `/server_info` where it has one. TensorRT-LLM's `/metrics`
 * is never asked, for what it answers is lost to others, nor that of a server
 * which may be TensorRT-LLM. Never rejects.
 */
export async function gatherEngine(baseUrl: string, given: PageModules): Promise<EvidencePart> {
  const { modules, statuses } = noting(baseUrl, given);
  try {
    const { owner, status } = await readOwner(baseUrl, modules);
    const isTensorRtLlm =
      owner === 'tensorrt_llm' || (owner === undefined && (await mayBeTensorRtLlm(baseUrl, status, modules)));
    const path = isTensorRtLlm ? '/prometheus/metrics' : '/metrics';
    const [metrics, info] = await Promise.all([
      readMetrics(`${baseUrl}${path}`, modules),
      owner === 'nvidia' ? undefined : readServerInfo(baseUrl, owner, modules),
    ]);
    const isWhole = metrics.source.status === 'read';
    const detail = `${metrics.source.detail}${metrics.source.status === 'not_read' ? hintOf(statuses, owner) : ''}`;
    if (info === undefined && metrics.source.status === 'not_read')
      return notRead(
        'engine',
        baseUrl,
        excerptOf(owner === undefined ? `${unrecognised(statuses)}; ${path}: ${detail}` : detail, ''),
      );
    const parts = [
      ...(owner === undefined ? [] : [`its model is owned by ${excerpt(owner)}`]),
      `${path}: ${detail}`,
      ...(info === undefined ? [] : ['/server_info read']),
    ];
    return {
      ...metrics,
      source: outcome('engine', baseUrl, isWhole ? 'read' : 'partly_read', parts.join('; ')),
      sizes: [...(metrics.sizes ?? []), ...(info?.sizes ?? [])],
      settings: [...(metrics.settings ?? []), ...(info?.settings ?? [])],
    };
  } catch (error) {
    return notRead('engine', baseUrl, error);
  }
}

async function readMetrics(url: string, { get, signal }: PageModules): Promise<EvidencePart> {
  try {
    const { status, body } = await get(url, { signal });
    if (status >= 200 && status < 300) return metricsPart(url, body);
    return notRead('metrics', url, `answers with status ${status}: ${excerpt(body)}`);
  } catch (error) {
    return notRead('metrics', url, error);
  }
}

/** Statuses of answers by their paths, in the order in which they came. */
type Statuses = ReadonlyMap<string, number>;

/** The modules, and the statuses of all that they are answered. */
function noting(
  baseUrl: string,
  { get, signal }: PageModules,
): { readonly modules: PageModules; readonly statuses: Statuses } {
  const statuses = new Map<string, number>();
  const noted: PageModules['get'] = async (url, options) => {
    const answer = await get(url, options);
    statuses.set(url.slice(baseUrl.length).replace(/\?.*$/, ''), answer.status);
    return answer;
  };
  return { modules: { get: noted, signal }, statuses };
}

/** That nothing shows which program it is, with what was asked. */
function unrecognised(statuses: Statuses): string {
  const answers = [...statuses].map(([path, status]) => `${path} answers with status ${status}`).sort();
  return `no engine is recognised there: ${answers.join(', ')}`;
}

/** What an operator can do about pages that are refused. */
function hintOf(statuses: Statuses, owner: string | undefined): string {
  if ([...statuses.values()].some((status) => status === 401 || status === 403))
    return '; name the file with its API key by --engine-api-key-file';
  return owner === 'sglang' && statuses.get('/metrics') === 404
    ? '; SGLang needs --enable-metrics for it'
    : '';
}

/** `owned_by` of the first model, where the model list has it, and the list's status. A server that cannot be reached rejects. */
async function readOwner(
  baseUrl: string,
  { get, signal }: PageModules,
): Promise<{ readonly owner: string | undefined; readonly status: number }> {
  const { status, body } = await get(`${baseUrl}/v1/models`, { signal });
  const owner = status === 200 ? /"owned_by"\s*:\s*"([\w.-]{1,64})"/.exec(body)?.[1] : undefined;
  return { owner, status };
}

/**
 * Whether a server that names no owner can be TensorRT-LLM, which has no API
 * keys of its own and answers `/version` in every release.
 */
async function mayBeTensorRtLlm(
  baseUrl: string,
  modelsStatus: number,
  { get, signal }: PageModules,
): Promise<boolean> {
  if (modelsStatus === 401 || modelsStatus === 403) return false;
  const { status, body } = await get(`${baseUrl}/version`, { signal });
  return status === 200 && !body.includes('rust_frontend_version');
}

/** The configuration as the engine runs with it. vLLM has it in development mode only. */
async function readServerInfo(
  baseUrl: string,
  owner: string | undefined,
  { get, signal }: PageModules,
): Promise<EngineFacts | undefined> {
  const url = `${baseUrl}/server_info${owner?.startsWith('vllm') === true ? '?config_format=json' : ''}`;
  try {
    const { status, body } = await get(url, { signal });
    if (status !== 200) return undefined;
    const config: unknown = parseJson(body, { ...DEFAULT_JSON_BOUNDS, maxBytes: MAX_SERVER_INFO_BYTES });
    // TensorRT-LLM reports what was configured, which its runtime may have overridden.
    const basis = owner === 'tensorrt_llm' ? 'configured' : 'in_use';
    const facts = engineFacts(config, { who: baseUrl, place: url, basis });
    const hasEffective = /"effective_attention_block_size"\s*:\s*\d/.test(body);
    return hasEffective ? { ...facts, sizes: [] } : facts;
  } catch {
    return undefined;
  }
}
