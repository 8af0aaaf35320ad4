import { tryParseJson } from '../../edge/platform/data/bounded-json.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { askedUrl } from '../../edge/platform/net/http-get.js';
import { excerpt } from '../../edge/platform/probe-error.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import { readMetrics } from '../facts/prometheus-text.js';
import { explainRefusedKey } from './ask.js';
import { type HttpAnswer, ProbeError, type ProbeModules, type ProbeTarget } from './probe.js';
import type { RecognisableEngine } from './recognition.js';

/** What identifying an engine needs. */
export type IdentifyModules = Pick<ProbeModules, 'httpGet' | 'engines'>;

/** What the engine behind an HTTP address is, and by what it was recognised. */
export interface Identification {
  readonly kind: EngineKind;
  /** `/v1/models says owned_by "vllm"`. */
  readonly reason: string;
}

/**
 * Finds out what the engine is, by paths that are harmless on every engine.
 *
 * The same path can be harmless on one engine and harmful on another:
 * TensorRT-LLM's `/metrics` takes the statistics away from the client that was meant
 * to read them, its `/health` can end a failing process. So nothing else is
 * asked before the kind is known. The order is by how much it says and how
 * little it costs: `/v1/models`, then the paths by which the known engines
 * (`modules.engines`) are recognised: `/version`, `/server_info` (SGLang asks its
 * schedulers for it), and `/live` of Dynamo's system port. Only when these
 * rule TensorRT-LLM out is `/metrics` asked, for engines that speak vLLM's
 * metrics under a name of their own.
 *
 * Rejects with a `ProbeError` when the engine cannot be reached, is not ready,
 * or is nothing that is known here.
 */
export async function identifyEngine(
  target: ProbeTarget,
  modules: IdentifyModules,
  signal: AbortSignal,
): Promise<Identification> {
  const base = target.httpBaseUrl;
  if (target.engineKind !== undefined) return confirmKind(target.engineKind, base, modules, signal);
  if (base === undefined)
    throw new ProbeError('not_here', 'identify', 'no HTTP address of the engine was given');

  const seen: string[] = [];
  const statuses = new Map<string, number>();
  let listsModels = false;
  const { engines } = modules;
  for (const path of ['/v1/models', ...pathsOf(engines)]) {
    const answer = await modules.httpGet(base + path, { signal });
    const { status } = answer;
    const json = parse(answer);
    const found = isJsonObject(json) ? judge(path, json, status, engines) : undefined;
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
    const found = status === 200 ? byMetrics(body, engines) : undefined;
    if (found !== undefined)
      return { kind: found.kind, reason: `/metrics has ${found.reason}, and there is no /version` };
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
  modules: IdentifyModules,
  signal: AbortSignal,
): Promise<Identification> {
  const confirmed = { kind: given, reason: 'the kind was given' };
  // Nothing is known that an unknown engine must not be asked, and it may call its models' owner as it likes.
  if (base === undefined || given === EngineKind.OTHER) return confirmed;
  const json = parse(await modules.httpGet(`${base}/v1/models`, { signal }));
  const found = isJsonObject(json) ? byModels(json, modules.engines) : undefined;
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
  modules: IdentifyModules,
  signal: AbortSignal,
  origin: string,
): Promise<Identification> {
  const found = await identifyEngine(target, modules, signal);
  if (kinds.includes(found.kind)) return found;
  throw new ProbeError('not_here', origin, `was not asked: this engine is another one (${found.reason})`);
}

type Judgement = { readonly kind: EngineKind; readonly reason: string } | undefined;

/** Every path by which some engine is recognised, each once, in the order of the engines. */
function pathsOf(engines: readonly RecognisableEngine[]): ReadonlySet<string> {
  return new Set(engines.flatMap(({ recognition }) => recognition.paths.map(({ path }) => path)));
}

function judge(
  path: string,
  answer: JsonObject,
  status: number,
  engines: readonly RecognisableEngine[],
): Judgement {
  if (path === '/v1/models') return byModels(answer, engines);
  for (const { kind, recognition } of engines) {
    for (const one of recognition.paths) {
      const reason = one.path === path ? one.recognise(answer, status) : undefined;
      if (reason !== undefined) return { kind, reason };
    }
  }
  return undefined;
}

function byModels(answer: JsonObject, engines: readonly RecognisableEngine[]): Judgement {
  const models = answer['data'];
  const first: unknown = Array.isArray(models) ? models[0] : undefined;
  const owner = isJsonObject(first) ? first['owned_by'] : undefined;
  if (typeof owner !== 'string') return undefined;
  for (const { kind, recognition } of engines) {
    if (recognition.owners.includes(owner)) return { kind, reason: `says owned_by ${excerpt(owner)}` };
    const { foreignOwners = {} } = recognition;
    if (Object.hasOwn(foreignOwners, owner))
      return { kind: EngineKind.OTHER, reason: `says owned_by ${excerpt(owner)}: ${foreignOwners[owner]}` };
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

function byMetrics(text: string, engines: readonly RecognisableEngine[]): Judgement {
  for (const { kind, recognition } of engines) {
    const { metricFamily: family } = recognition;
    if (family === undefined) continue;
    if (readMetrics(text, new Set([family.name])).samples.has(family.name))
      return { kind, reason: family.words };
  }
  return undefined;
}

/** Answers that were parsed: every probe of a round identifies the engine, by the same answers. */
const parsed = new WeakMap<HttpAnswer, unknown>();

function parse(answer: HttpAnswer): unknown {
  // No JSON, or far too much of it, is one of the answers that show nothing; the caller goes on to the next path.
  if (!parsed.has(answer)) parsed.set(answer, tryParseJson(answer.body));
  return parsed.get(answer);
}
