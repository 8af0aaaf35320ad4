import { messageOf } from '../../edge/platform/describe-error.js';
import { shareSignal } from '../../edge/platform/time/on-abort.js';
import { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDescriptor } from '../descriptor/engine-descriptor.js';
import type { GrpcService } from '../descriptor/grpc-service.js';
import { identifyEngine } from '../probing/identify-engine.js';
import { ProbeError, type ProbeModules, type ProbeTarget } from '../probing/probe.js';
import { shareRound } from '../probing/share-round.js';
import { ENGINES, engineOfKind } from './engines.js';

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

const HTTP_PORTS: readonly number[] = ENGINES.flatMap(({ ports }) => ports.http);
const GRPC_PORTS: readonly number[] = ENGINES.flatMap(({ ports }) => ports.grpc);

/**
 * Looks for the engine on the usual local ports, side by side, and only by
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
  const named = ENGINES.flatMap(({ ports }) => {
    const port = ports.variable === undefined ? 0 : Number(options.environment[ports.variable]);
    return Number.isInteger(port) && port > 0 && port <= 65_535 ? [port] : [];
  });
  const httpPorts = new Set([...(options.httpPorts ?? HTTP_PORTS), ...named]);
  const shared = shareRound(modules);
  // Every port is asked at the same time.
  shareSignal(signal);
  const services = await loadServices();
  const [http, grpc] = await Promise.all([
    Promise.all([...httpPorts].map((port) => lookAtHttp(`http://${host}:${port}`, shared, signal))),
    Promise.all(
      (options.grpcPorts ?? GRPC_PORTS).map((port) =>
        lookAtGrpc(`${host}:${port}`, services, shared, signal),
      ),
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
    return { ...look, reason, ...(kind === EngineKind.OTHER ? {} : { kind }) };
  } catch (cause) {
    return { ...look, reason: messageOf(cause) };
  }
}

/** The services by which engines are recognised, each with its engine. */
async function loadServices(): Promise<readonly (GrpcService & Pick<EngineDescriptor, 'kind'>)[]> {
  const found = ENGINES.map(async ({ kind, loadProbing }) =>
    (await loadProbing()).grpcServices.map((service) => ({ ...service, kind })),
  );
  return (await Promise.all(found)).flat();
}

async function lookAtGrpc(
  grpcAddress: string,
  services: Awaited<ReturnType<typeof loadServices>>,
  modules: ProbeModules,
  signal: AbortSignal,
): Promise<Look> {
  const look = { address: `gRPC ${grpcAddress}`, place: { grpcAddress } };
  for (const { kind, name, call } of services) {
    try {
      await call(modules.rpc, grpcAddress, signal);
      return { ...look, kind, reason: `${name} answers` };
    } catch (cause) {
      if (!(cause instanceof ProbeError) || cause.code !== 'not_here')
        return { ...look, reason: messageOf(cause) };
    }
  }
  return { ...look, reason: 'a gRPC server with no service that is known here' };
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
  const target: ProbeTarget = {
    engineKind: main.kind,
    ...main.place,
    ...(service === undefined ? {} : service.place),
    ...engineOfKind(main.kind)?.targetOf?.(environment),
  };
  return { target, findings };
}
