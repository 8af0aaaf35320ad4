import { SglangServiceService } from '../../gen/engines/sglang/sglang.js';
import { ControlService } from '../../gen/engines/vllm/control.js';
import { VllmEngineService } from '../../gen/engines/vllm/vllm_engine.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import { identifyEngine } from './identify-engine.js';
import { ProbeError, type ProbeModules, type ProbeTarget } from './probe.js';
import { shareRound } from './share-round.js';

/** What `--engine auto` looked at, and what became of it. */
export interface DetectFinding {
  /** `http://127.0.0.1:8000` or `gRPC 127.0.0.1:50051`. */
  readonly address: string;
  /** Undefined when nothing that is known here answered. */
  readonly kind?: EngineKind;
  readonly taken: boolean;
  /** Why it was taken or not, for people: `vLLM: /v1/models says owned_by "vllm"`. */
  readonly reason: string;
}

/** The outcome of a search. */
export interface Detection {
  /** The engine to probe; undefined when none was found, or more than one. */
  readonly target?: ProbeTarget;
  /** One for each address, in the order in which they are listed in the documentation. */
  readonly findings: readonly DetectFinding[];
}

export interface DetectOptions {
  /** `DYN_SYSTEM_PORT` and `DYN_FILE_KV` are read from it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where to look; default 127.0.0.1, because an engine in the same pod or on the same host is meant. */
  readonly host?: string;
  /** HTTP ports to look at; by default the usual ones of each engine. */
  readonly httpPorts?: readonly number[];
  /** gRPC ports to look at; by default 50051. */
  readonly grpcPorts?: readonly number[];
}

/** vLLM and TensorRT-LLM; SGLang; Dynamo's system port in its documentation of different years. */
const HTTP_PORTS: readonly number[] = [8000, 30_000, 8081, 9090];
/** vLLM's, with `--grpc` and in examples of `--grpc-port`. SGLang has no default. */
const GRPC_PORTS: readonly number[] = [50_051];

/** The engines that a worker can be. */
const WORKERS: ReadonlySet<EngineKind> = new Set([
  EngineKind.VLLM,
  EngineKind.SGLANG,
  EngineKind.TENSORRT_LLM,
  EngineKind.DYNAMO,
]);

/**
 * Looks for the engine on the usual local ports, all at once, and only by
 * requests that are harmless on every engine.
 *
 * One engine is taken, with its gRPC when that is of the same kind. Two are
 * not chosen between: a sidecar that reports the wrong engine is worse than
 * one that asks. Never rejects.
 */
export async function detectEngine(
  options: DetectOptions,
  modules: ProbeModules,
  signal: AbortSignal,
): Promise<Detection> {
  const host = options.host ?? '127.0.0.1';
  const dynamoPort = Number(options.environment['DYN_SYSTEM_PORT']);
  const named = Number.isInteger(dynamoPort) && dynamoPort > 0 && dynamoPort <= 65_535 ? [dynamoPort] : [];
  const httpPorts = new Set([...(options.httpPorts ?? HTTP_PORTS), ...named]);
  const shared = shareRound(modules);
  const [http, grpc] = await Promise.all([
    Promise.all([...httpPorts].map((port) => lookAtHttp(`http://${host}:${port}`, shared, signal))),
    Promise.all(
      (options.grpcPorts ?? GRPC_PORTS).map((port) => lookAtGrpc(`${host}:${port}`, shared, signal)),
    ),
  ]);
  return choose(http, grpc, options.environment);
}

interface Look {
  readonly address: string;
  /** What a target needs to be asked there. */
  readonly place: Pick<ProbeTarget, 'httpBaseUrl' | 'grpcAddress'>;
  readonly kind?: EngineKind;
  readonly reason: string;
}

async function lookAtHttp(httpBaseUrl: string, modules: ProbeModules, signal: AbortSignal): Promise<Look> {
  const look = { address: httpBaseUrl, place: { httpBaseUrl } };
  try {
    const { kind, reason } = await identifyEngine({ httpBaseUrl }, modules, signal);
    return { ...look, reason, ...(WORKERS.has(kind) ? { kind } : {}) };
  } catch (cause) {
    return { ...look, reason: reasonOf(cause) };
  }
}

/** The services of engines, each with a method that only tells. */
const SERVICES = [
  { kind: EngineKind.VLLM, name: 'vllm.Control', method: ControlService.getServerInfo },
  {
    kind: EngineKind.VLLM,
    name: 'vllm.grpc.engine.VllmEngine',
    method: VllmEngineService.getServerInfo,
  },
  {
    kind: EngineKind.SGLANG,
    name: 'sglang.runtime.v1.SglangService',
    method: SglangServiceService.getServerInfo,
  },
] as const;

async function lookAtGrpc(grpcAddress: string, modules: ProbeModules, signal: AbortSignal): Promise<Look> {
  const look = { address: `gRPC ${grpcAddress}`, place: { grpcAddress } };
  for (const { kind, name, method } of SERVICES) {
    try {
      await modules.rpc.call<object, unknown>(grpcAddress, method, {}, { signal });
      return { ...look, kind, reason: `${name} answers` };
    } catch (cause) {
      if (!(cause instanceof ProbeError) || cause.code !== 'not_here')
        return { ...look, reason: reasonOf(cause) };
    }
  }
  return { ...look, reason: 'a gRPC server with no service that is known here' };
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

function choose(
  http: readonly Look[],
  grpc: readonly Look[],
  environment: DetectOptions['environment'],
): Detection {
  const engines = http.filter(({ kind }) => kind !== undefined);
  const services = grpc.filter(({ kind }) => kind !== undefined);
  const [engine] = engines;
  const service = services.find(({ kind }) => engine === undefined || kind === engine.kind);
  const main = engine ?? service;
  const several = engines.length > 1 || (engines.length === 0 && services.length > 1);
  const taken = new Set(
    several || main === undefined ? [] : [main, ...(service === undefined ? [] : [service])],
  );
  const findings = [...http, ...grpc].map((look): DetectFinding => {
    const { address, kind, reason } = look;
    if (kind === undefined || taken.has(look))
      return { address, taken: taken.has(look), reason, ...(kind === undefined ? {} : { kind }) };
    const why = several
      ? 'not taken: there is more than one engine; say which with --engine'
      : 'not taken: it is another engine than the one on HTTP; give it with --engine-grpc if it is meant';
    return { address, kind, taken: false, reason: `${reason}; ${why}` };
  });
  if (main?.kind === undefined || several) return { findings };
  const fileKv = environment['DYN_FILE_KV'];
  const target: ProbeTarget = {
    engineKind: main.kind,
    ...main.place,
    ...(service === undefined ? {} : service.place),
    ...(main.kind === EngineKind.DYNAMO && fileKv !== undefined && fileKv !== ''
      ? { dynamoFileKv: fileKv }
      : {}),
  };
  return { target, findings };
}
