import { parseJson } from '../../edge/platform/data/bounded-json.js';
import { askedUrl } from '../../edge/platform/net/http-get.js';
import { excerpt } from '../../edge/platform/probe-error.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import { isJsonObject, type JsonObject } from '../facts/json-object.js';
import { readMetrics } from '../facts/prometheus-text.js';
import { explainRefusedKey } from './ask.js';
import { type HttpAnswer, ProbeError, type ProbeModules, type ProbeTarget } from './probe.js';

/** What the engine behind an HTTP address is, and how it was told. */
export interface Identification {
  readonly kind: EngineKind;
  /** `/v1/models says owned_by "vllm"`. */
  readonly reason: string;
}

/**
 * `owned_by` of each engine's model list. vLLM, its Rust frontend and SGLang
 * were seen to say so; TensorRT-LLM's word is the constant in its
 * `openai_protocol.py`; "nvidia" is Dynamo's frontend, which is no worker.
 */
const OWNERS: ReadonlyMap<string, EngineKind> = new Map([
  ['vllm', EngineKind.VLLM],
  ['vllm-frontend-rs', EngineKind.VLLM],
  ['sglang', EngineKind.SGLANG],
  ['tensorrt_llm', EngineKind.TENSORRT_LLM],
]);

/**
 * Finds out what the engine is, by paths that are harmless on every engine.
 *
 * The same path can be harmless on one engine and harmful on another:
 * TensorRT-LLM's `/metrics` takes the statistics away from whoever was meant
 * to read them, its `/health` can end a failing process. So nothing else is
 * asked before the kind is known. The order is by how much it tells and how
 * little it costs: `/v1/models`, `/version`, `/server_info` (SGLang asks its
 * schedulers for it), and `/live` of Dynamo's system port. Only when these
 * rule TensorRT-LLM out is `/metrics` asked, for engines that speak vLLM's
 * metrics under a name of their own.
 *
 * Rejects with a `ProbeError` when the engine cannot be reached, is not ready,
 * or is nothing that is known here.
 */
export async function identifyEngine(
  target: ProbeTarget,
  modules: Pick<ProbeModules, 'httpGet'>,
  signal: AbortSignal,
): Promise<Identification> {
  const base = target.httpBaseUrl;
  if (target.engineKind !== undefined) return confirmKind(target.engineKind, base, modules, signal);
  if (base === undefined)
    throw new ProbeError('not_here', 'identify', 'no HTTP address of the engine was given');

  const seen: string[] = [];
  const statuses = new Map<string, number>();
  let listsModels = false;
  for (const [path, judge] of [
    ['/v1/models', byModels],
    ['/version', byVersion],
    ['/server_info', byServerInfo],
    ['/live', byDynamoStatus],
  ] as const) {
    const answer = await modules.httpGet(base + path, { signal });
    const { status } = answer;
    const json = parse(answer);
    const found = isJsonObject(json) ? judge(json, status) : undefined;
    if (found !== undefined) return { kind: found.kind, reason: `${path} ${found.reason}` };
    // Only Dynamo says 503 with a body of its own; from all others it means "later", and asking on is of no use.
    if (status === 503)
      throw new ProbeError('not_ready', askedUrl(base + path), 'the engine is not ready (status 503)');
    if (path === '/v1/models')
      listsModels = status === 200 && isJsonObject(json) && Array.isArray(json['data']);
    statuses.set(path, status);
    seen.push(`${path} ${status}`);
  }
  if (listsModels && ABSENT.has(statuses.get('/version') ?? 0)) {
    const { status, body } = await modules.httpGet(`${base}/metrics`, { signal });
    if (status === 200 && hasVllmMetrics(body))
      return {
        kind: EngineKind.VLLM,
        reason: "/metrics has vLLM's cache configuration, and there is no /version",
      };
    seen.push(`/metrics ${status}`);
  }
  const refused = [401, 403].find((status) => statuses.get('/v1/models') === status);
  if (refused !== undefined)
    throw new ProbeError('bad_answer', askedUrl(`${base}/v1/models`), explainRefusedKey(refused));
  throw new ProbeError(
    'bad_answer',
    askedUrl(base),
    `no engine that is known here (${seen.join(', ')}); say what it is with --engine-kind`,
  );
}

/**
 * Takes the kind that the operator gave, unless the model list names another
 * engine: a wrong `--engine-kind` must not lead to requests that harm.
 */
async function confirmKind(
  given: EngineKind,
  base: string | undefined,
  modules: Pick<ProbeModules, 'httpGet'>,
  signal: AbortSignal,
): Promise<Identification> {
  const confirmed = { kind: given, reason: 'the kind was given' };
  if (base === undefined) return confirmed;
  const json = parse(await modules.httpGet(`${base}/v1/models`, { signal }));
  const found = isJsonObject(json) ? byModels(json) : undefined;
  if (found === undefined || found.kind === given) return confirmed;
  throw new ProbeError(
    'bad_answer',
    askedUrl(`${base}/v1/models`),
    `${found.reason}, which is not what was given with --engine-kind`,
  );
}

/**
 * Lets a probe go on when the engine is one of `kinds`; rejects with a
 * `ProbeError` of code `not_here` when it is another.
 */
export async function requireKind(
  kinds: readonly EngineKind[],
  target: ProbeTarget,
  modules: Pick<ProbeModules, 'httpGet'>,
  signal: AbortSignal,
  origin: string,
): Promise<Identification> {
  const found = await identifyEngine(target, modules, signal);
  if (kinds.includes(found.kind)) return found;
  throw new ProbeError('not_here', origin, `was not asked: this engine is another one (${found.reason})`);
}

type Judgement = { readonly kind: EngineKind; readonly reason: string } | undefined;

function byModels(answer: JsonObject): Judgement {
  const models = answer['data'];
  const first: unknown = Array.isArray(models) ? models[0] : undefined;
  const owner = isJsonObject(first) ? first['owned_by'] : undefined;
  if (typeof owner !== 'string') return undefined;
  const kind = OWNERS.get(owner);
  if (kind !== undefined) return { kind, reason: `says owned_by ${excerpt(owner)}` };
  if (owner === 'nvidia') {
    return {
      kind: EngineKind.OTHER,
      reason:
        'says owned_by "nvidia": this is Dynamo\'s frontend, not a worker; give the address of the worker',
    };
  }
  return undefined;
}

function byVersion(answer: JsonObject): Judgement {
  // vLLM and TensorRT-LLM both answer {"version": …}; only vLLM's Rust frontend adds a field of its own.
  if (typeof answer['rust_frontend_version'] !== 'string') return undefined;
  return { kind: EngineKind.VLLM, reason: 'has rust_frontend_version' };
}

function byServerInfo(answer: JsonObject): Judgement {
  if ('vllm_config' in answer) return { kind: EngineKind.VLLM, reason: 'has vllm_config' };
  if ('page_size' in answer && 'model_path' in answer) {
    return { kind: EngineKind.SGLANG, reason: 'has page_size and model_path' };
  }
  if ('disaggregated_params' in answer || 'tokens_per_block' in answer) {
    const field = 'tokens_per_block' in answer ? 'tokens_per_block' : 'disaggregated_params';
    return { kind: EngineKind.TENSORRT_LLM, reason: `has ${field}` };
  }
  return undefined;
}

/**
 * Statuses of a path that is not there. Every release of TensorRT-LLM whose
 * `/metrics` is drained by reading it answers `/version`, under the same
 * server as `/v1/models` (`register_routes` of its `openai_server.py`): a
 * server with a model list and without `/version` is another engine.
 */
const ABSENT: ReadonlySet<number> = new Set([404, 405, 501]);

const CACHE_CONFIG = 'vllm:cache_config_info';

function hasVllmMetrics(text: string): boolean {
  return readMetrics(text, new Set([CACHE_CONFIG])).samples.has(CACHE_CONFIG);
}

function byDynamoStatus(answer: JsonObject, status: number): Judgement {
  const state = answer['status'];
  if ((status !== 200 && status !== 503) || (state !== 'ready' && state !== 'notready')) return undefined;
  if (!('endpoints' in answer)) return undefined;
  return { kind: EngineKind.DYNAMO, reason: `is Dynamo's system status (${state})` };
}

/** Answers that were parsed: every probe of a round identifies the engine, by the same answers. */
const parsed = new WeakMap<HttpAnswer, unknown>();

function parse(answer: HttpAnswer): unknown {
  if (!parsed.has(answer)) parsed.set(answer, parseBody(answer.body));
  return parsed.get(answer);
}

function parseBody(body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    // No JSON, or far too much of it, is one of the answers that tell nothing; the caller goes on to the next path.
    return undefined;
  }
}
