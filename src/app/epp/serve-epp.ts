import type { Address } from '../../edge/platform/address.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import { systemResolver } from '../../edge/platform/net/resolver.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { collectForBodies } from '../../edge/platform/processes/garbage.js';
import { canTakeResets, nodeVersion } from '../../edge/platform/processes/node-version.js';
import { systemRandom } from '../../edge/platform/random.js';
import { untilAborted } from '../../edge/platform/time/on-abort.js';
import type { RpcLimits } from '../../edge/rpc/limits.js';
import { RpcServer } from '../../edge/rpc/server.js';
import { createPlaintextSecurity } from '../../edge/security/security.js';
import { baseUrlOf, type Catalogue } from '../../fleet/catalogue/catalogue.js';
import { DiscoveryError } from '../../fleet/discovery/discovery-error.js';
import { openObjectives } from '../../fleet/discovery/inference-pool/open-objectives.js';
import { EndpointDirectory } from '../../frontend/picker/endpoints/endpoint-directory.js';
import { Picker } from '../../frontend/picker/picker.js';
import { extProcService } from '../../frontend/picker/wire/wire.js';
import { openTracing } from '../../frontend/tracing/open-tracing.js';
import type { Closing } from '../closing.js';
import { followFleet } from '../follow-fleet.js';
import { type AggregatorSettings, type OpenedAggregator, openAggregator } from '../open-aggregator.js';
import { type EngineSettings, givenUrlsOf, openEngineParts } from '../open-gateway.js';
import { SettingError } from '../setting-error.js';
import { startOrExplain } from '../start-or-explain.js';
import { GatewayHandshakes } from './gateway-handshakes.js';
import { GivenEndpoints } from './given-endpoints.js';
import { type PickerSecuritySettings, pickerSecurity } from './picker-security.js';

/** All that decides what `kv-accord epp` runs. */
export interface EppSettings
  extends AggregatorSettings,
    EngineSettings,
    Omit<PickerSecuritySettings, keyof AggregatorSettings> {
  /** Where `ext_proc` is served. */
  readonly extProcListen: Address;
  /** Where gRPC health is served in plaintext, for probes. */
  readonly healthListen: Address;
  readonly httpBodyLimitBytes: number;
  readonly sessionAffinity: 'header' | 'user' | 'off';
  readonly requestTimeoutMs: number;
  readonly drainTimeoutMs: number;
  readonly maxRequests: number;
  readonly maxRequestsPerWorker: number;
  /** Endpoints beside the first one of an answer. */
  readonly fallbackEndpoints: number;
  /** `NAME=NAME`. */
  readonly modelRewrite: readonly string[];
  /** Whether requests are only watched. */
  readonly shadow: boolean;
}

export interface EppModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** The product's version. */
  readonly version: string;
  /** When it is to end. */
  readonly signal: AbortSignal;
}

/** How it ended: because it was asked to, or because its fleet changed in a way that `--on-change` refuses. */
export type EppEnd = 'asked' | 'refused';

/** What the Inference Extension's gateways and probes ask for, beside the name of the service. */
const HEALTH_NAMES = ['liveness', 'readiness', 'envoy.service.ext_proc.v3.ExternalProcessor'];

/** What a message has beside the body in it. */
const MESSAGE_MARGIN_BYTES = 1024 * 1024;

/** Runs an Endpoint Picker until it is asked to end or refuses a change. */
export async function serveEpp(
  settings: EppSettings,
  modules: EppModules,
  closing: Closing,
): Promise<EppEnd> {
  const { clock, logger, version, signal } = modules;
  collectForBodies();
  const given = new GivenEndpoints(givenUrlsOf(settings));
  const aggregator = await openAggregator(settings, {
    title: 'kv-accord epp',
    clock,
    logger,
    version,
    isReachable: (member) => baseUrlOf(member, given.urls) !== undefined,
    onEndpoints: (endpoints) => given.setList(endpoints),
  });
  closing.push(() => aggregator.close());
  const picker = await openPicker(settings, modules, { aggregator, given }, closing);
  const security = pickerSecurity(settings, { clock, random: systemRandom, security: aggregator.security });
  const health = new RpcServer(
    { listen: settings.healthListen, listenField: '--health-listen' },
    // Health alone is answered there, for probes that speak no TLS.
    { clock, logger, random: systemRandom, security: createPlaintextSecurity({ allowsPlaintext: true }) },
  );
  const handshakes = new GatewayHandshakes({ logger });
  const server = new RpcServer(
    {
      listen: settings.extProcListen,
      listenField: '--ext-proc-listen',
      limits: limitsOf(settings),
      onHandshakeError: (error, peer) => handshakes.failed(error, peer),
    },
    { clock, logger, random: systemRandom, security },
  );
  server.addService(extProcService, picker.createHandlers(server.edge));
  for (const name of HEALTH_NAMES) for (const one of [health, server]) one.health.setStatus(name, 'SERVING');
  const { grpc, http } = await startOrExplain(aggregator.aggregator);
  closing.push(() => health.stop(0));
  const healthAt = await startOrExplain(health);
  closing.push(async () => {
    for (const one of [health, server]) one.health.shutDown();
    await picker.drain(settings.drainTimeoutMs);
    await server.stop(CUT_GRACE_MS);
  });
  const extProc = await startOrExplain(server);
  if (!canTakeResets())
    logger.warn(
      { node: nodeVersion() },
      'Node before 22.10 ends the connection of a gateway that resets more than 33 streams a second, as Envoy does above 33 requests a second: those requests get 500 from the gateway. Run kv-accord epp on Node 22.10 or later',
    );
  logger.info(
    {
      ext_proc: extProc.text,
      health: healthAt.text,
      grpc: grpc.text,
      http: http.text,
      workers: aggregator.watched,
      router: settings.routerMode,
      tls: security.transport === 'tls',
      shadow: settings.shadow,
    },
    `kv-accord epp ${version} picks endpoints over ext_proc on ${extProc.text} and watches ${aggregator.watched}`,
  );
  const refusal = await Promise.race([aggregator.aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? 'asked' : 'refused';
}

/** Makes what picks, and has it follow the fleet. */
async function openPicker(
  settings: EppSettings,
  modules: EppModules,
  { aggregator, given }: { readonly aggregator: OpenedAggregator; readonly given: GivenEndpoints },
  closing: Closing,
): Promise<Picker> {
  const { clock, logger, version } = modules;
  const { tokens, engines } = await openEngineParts(settings, given.urls, modules, closing);
  const tracer = await openTracing({ environment: modules.environment, version }, { clock, logger });
  closing.push(() => tracer?.close());
  const priorityOf = await openPriorities(settings, modules, closing);
  const directory = new EndpointDirectory({ clock, logger, resolver: systemResolver });
  closing.push(() => directory.close());
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  const stopFollowing = followFleet(aggregator.aggregator.fleet.runner, given.urls, modules, (served) => {
    catalogue = served.catalogue;
    directory.update(catalogue, given.served);
  });
  closing.push(stopFollowing);
  return new Picker(
    {
      isShadow: settings.shadow,
      totalTimeoutMs: settings.requestTimeoutMs,
      fallbacks: settings.fallbackEndpoints,
      modelRewrites: rewritesOf(settings.modelRewrite),
      wantsTokens: settings.routerMode === 'kv',
      sessionAffinity: settings.sessionAffinity,
      maxRequestsPerWorker: settings.maxRequestsPerWorker,
      maxRequests: settings.maxRequests,
      bodyLimitBytes: settings.httpBodyLimitBytes,
    },
    {
      clock,
      logger,
      registry: aggregator.registry,
      catalogue: () => catalogue,
      endpoints: () => directory.book,
      routing: aggregator.routing,
      tokens,
      engines,
      priorityOf,
      tracer,
    },
  );
}

/** A prompt of 100 KB and what a gateway says with it come without waiting; grpc-go, which other pickers are made with, lets 16 MiB come. */
const WINDOW_BYTES = 256 * 1024;

/** How long the last messages of a drain may take to go out. */
const CUT_GRACE_MS = 500;

/** One request is one stream of a gateway's few connections: bounds of other servers' callers are not meant for it. */
function limitsOf({ maxRequests, httpBodyLimitBytes }: EppSettings): Partial<RpcLimits> {
  // Further streams are refused with an answer of their own, and only a flood of them without one.
  const streams = 2 * maxRequests;
  return {
    maxMessageBytes: httpBodyLimitBytes + MESSAGE_MARGIN_BYTES,
    maxOpenCallsPerConnection: streams,
    maxOpenCalls: streams,
    maxCallsPerSecondPerConnection: Number.MAX_SAFE_INTEGER,
    takesResets: true,
    windowBytes: WINDOW_BYTES,
  };
}

/** The priorities of a pool's objectives; 0 for all where there is no pool. */
async function openPriorities(
  { pool, kubeconfig, kubeContext }: EppSettings,
  { clock, logger, environment }: EppModules,
  closing: Closing,
): Promise<(objective: string | undefined) => number> {
  if (pool === undefined) return () => 0;
  try {
    const opened = await openObjectives(
      { pool, kubeconfig, kubeContext },
      { clock, logger, random: systemRandom, environment },
    );
    closing.push(() => opened.close());
    return (objective) => opened.objectives.priorityOf(objective);
  } catch (error) {
    throw error instanceof DiscoveryError ? new SettingError(error.message) : error;
  }
}

/** `NAME=NAME,…`; the settings were checked before. */
function rewritesOf(items: readonly string[]): ReadonlyMap<string, string> {
  return new Map(items.map((item) => [item.slice(0, item.indexOf('=')), item.slice(item.indexOf('=') + 1)]));
}
