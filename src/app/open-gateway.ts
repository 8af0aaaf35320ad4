import type { Registry } from 'prom-client';
import type { ProbeBoard } from '../edge/http/probe-board.js';
import { type Address, isLoopback } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import type { Environment } from '../edge/platform/processes/environment.js';
import type { ServedTls } from '../edge/security/served-tls.js';
import { baseUrlOf, type Catalogue, type GivenUrls } from '../fleet/catalogue/catalogue.js';
import type { Routing } from '../fleet/router/routing.js';
import { EngineAsker } from '../frontend/engine-access/engine-asker.js';
import { KeyHosts } from '../frontend/engine-access/key-hosts.js';
import { Gateway, type GatewayModules } from '../frontend/gateway/gateway.js';
import type { SessionAffinity } from '../frontend/gateway/session-hash.js';
import { WorkerProxy } from '../frontend/proxy/worker-proxy.js';
import type { TokenSource } from '../frontend/tokens/prompt-tokens.js';
import { createTokenSource, type TokenSourceOptions } from '../frontend/tokens/token-source.js';
import { TokenizerFolderError } from '../frontend/tokens/tokenizer-folder.js';
import { openTracing } from '../frontend/tracing/open-tracing.js';
import type { RequestTracer } from '../frontend/tracing/request-tracer.js';
import type { Closing } from './closing.js';
import { type AggregatorSettings, type OpenedAggregator, openAggregator } from './open-aggregator.js';
import { type OpenedApiKeys, openApiKeys } from './open-api-keys.js';
import { type EngineTrust, openEngineTrust } from './open-engine-trust.js';
import { type OpenAiPlace, openAiAddress } from './openai-address.js';
import { SettingError } from './setting-error.js';
import { readEngineKey } from './setting-file.js';
import { readWorkerUrls } from './worker-urls.js';

/** What decides how the OpenAI server serves. */
export interface GatewaySettings extends OpenAiPlace, Pick<AggregatorSettings, 'routerMode'> {
  /** Origins whose pages may ask from a browser; `*` alone: all. */
  readonly corsOrigins: readonly string[];
  readonly httpBodyLimitBytes: number;
  /** Where the name of a request's session is read. */
  readonly sessionAffinity: SessionAffinity;
  /** Tokens that another worker has to hold beyond the chosen one, before that one is informed of it; 0: never. */
  readonly neighbourHints: number;
  /** Connections of clients at a time, of all processes together. */
  readonly maxConnections: number;
}

/** How engines are asked. */
export interface EngineSettings extends Pick<AggregatorSettings, 'routerMode'> {
  /** `WORKER=http://HOST:PORT`, for engines whose address is not known. */
  readonly workerUrls: readonly string[];
  /** File with the key that engines' HTTP asks for. */
  readonly engineApiKeyFile: string | undefined;
  /** Hosts of engines that get keys although they are not on their sidecar's own host. */
  readonly engineKeyHosts: readonly string[];
  /** File with the authorities of engines' certificates. */
  readonly engineTlsCa: string | undefined;
  /** `engine`, or a folder with the model's tokenizer files. */
  readonly tokenizer: string;
  readonly tokenizeTimeoutMs: number;
}

/** All that decides what a frontend runs. */
export interface FrontendSettings extends AggregatorSettings, GatewaySettings, EngineSettings {
  /** File with the API keys that clients must show; undefined asks for none. */
  readonly apiKeyFile: string | undefined;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly stallTimeoutMs: number;
  /** Whether one worker computes all of a request whose prefill worker failed. */
  readonly pdFallback: boolean;
  /** Longest time of a prefill worker; 0: as long as it shows work. */
  readonly pdPrefillTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Whether answers say in headers where they were computed. */
  readonly decisionHeaders: boolean;
}

export interface FrontendModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** The product's version. */
  readonly version: string;
}

/** The setting of the OpenAI server's port, for messages. */
export const OPENAI_LISTEN_FIELD = '--http-port';

/** Longest silence of a worker, and longest wait for its first byte. */
const MAX_SILENCE_MS = 600_000;

/** What requests are answered with, beside the fleet. */
export interface GatewayParts {
  readonly keys: OpenedApiKeys | undefined;
  readonly tokens: TokenSource;
  readonly tracer: RequestTracer | undefined;
  readonly proxy: WorkerProxy;
  readonly engines: EngineAsker;
}

/** What asks engines, and how they are trusted. */
export interface EngineParts {
  readonly tokens: TokenSource;
  readonly engines: EngineAsker;
  readonly engineApiKey: string | undefined;
  readonly mayHaveKeys: KeyHosts['mayHaveKeys'];
  readonly trust: EngineTrust;
}

/** Opens it as the settings say; what is wrong is the fault of a setting. `given`: base URLs that an operator vouches for. */
export async function openEngineParts(
  settings: EngineSettings,
  given: GivenUrls,
  context: Pick<FrontendModules, 'clock' | 'logger'>,
  closing: Closing,
): Promise<EngineParts> {
  const { clock, logger } = context;
  const modules = { clock, logger };
  const engineApiKey = await readEngineKey(settings.engineApiKeyFile);
  const { mayHaveKeys } = new KeyHosts({ allowed: settings.engineKeyHosts, given }, { logger });
  const trust = await openEngineTrust(settings.engineTlsCa, modules);
  closing.push(() => trust.close());
  const tokens = await openTokens(settings, { engineApiKey, mayHaveKeys, engineCa: trust.ca }, modules);
  closing.push(() => tokens.close());
  const engines = new EngineAsker({ apiKey: engineApiKey, mayHaveKeys, ca: trust.ca }, modules);
  closing.push(() => engines.close());
  return { tokens, engines, engineApiKey, mayHaveKeys, trust };
}

/** Opens it as the settings say; what is wrong is the fault of a setting. */
export async function openGatewayParts(
  settings: FrontendSettings,
  context: FrontendModules,
  closing: Closing,
): Promise<GatewayParts> {
  const { clock, logger, version, environment } = context;
  const modules = { clock, logger };
  const keys =
    settings.apiKeyFile === undefined ? undefined : await openApiKeys(settings.apiKeyFile, modules);
  closing.push(() => keys?.close());
  const parts = await openEngineParts(settings, givenUrlsOf(settings), context, closing);
  const { tokens, engines, engineApiKey, mayHaveKeys, trust } = parts;
  const tracer = await openTracing({ environment, version }, modules);
  closing.push(() => tracer?.close());
  const proxy = new WorkerProxy(
    {
      connectTimeoutMs: settings.connectTimeoutMs,
      firstByteTimeoutMs: settings.firstByteTimeoutMs,
      stallTimeoutMs: settings.stallTimeoutMs,
      fallsBack: settings.pdFallback,
      prefillTimeoutMs: settings.pdPrefillTimeoutMs,
      headersTimeoutMs: Math.min(settings.requestTimeoutMs, MAX_SILENCE_MS),
      idleTimeoutMs: Math.min(settings.requestTimeoutMs, MAX_SILENCE_MS),
      totalTimeoutMs: settings.requestTimeoutMs,
      passesAuthorization: keys === undefined,
      decisionHeaders: settings.decisionHeaders,
      mayHaveKeys,
      ...(engineApiKey === undefined ? {} : { engineApiKey }),
      engineCa: trust.ca,
    },
    modules,
  );
  closing.push(() => proxy.close(0));
  return { keys, tokens, tracer, proxy, engines };
}

/** Opens the fleet of a frontend: a worker without a known address gets no requests. */
export async function openFleet(
  settings: FrontendSettings,
  { clock, logger, version }: Pick<FrontendModules, 'clock' | 'logger' | 'version'>,
  closing: Closing,
): Promise<OpenedAggregator & { readonly given: GivenUrls }> {
  const given = givenUrlsOf(settings);
  const opened = await openAggregator(settings, {
    title: 'kv-accord frontend',
    clock,
    logger,
    version,
    isReachable: (member) => baseUrlOf(member, given) !== undefined,
  });
  closing.push(() => opened.close());
  return { ...opened, given };
}

/** What a gateway gets from the process that has the fleet. */
export interface GatewaySurroundings
  extends Pick<GatewayModules, 'metricsPage' | 'findProblem' | 'statusPage'> {
  readonly registry: Registry;
  readonly routing: Routing;
  readonly probes: ProbeBoard;
  readonly tls: ServedTls | undefined;
  readonly catalogue: () => Catalogue;
  /** Where the status page is; not the setting, whose port may be 0. Default: there is none. */
  readonly statusAddress?: string | undefined;
  /** Where to listen, where it is not as the settings say. */
  readonly port?: number;
  /** How many processes listen there. Default 1. */
  readonly sharers?: number;
}

/** Makes the OpenAI server, not started yet. */
export function createGateway(
  settings: GatewaySettings,
  { clock, logger, version }: Pick<FrontendModules, 'clock' | 'logger'> & { readonly version?: string },
  { keys, tokens, tracer, proxy, engines }: GatewayParts,
  { tls, statusAddress, port = settings.httpPort, sharers = 1, ...surroundings }: GatewaySurroundings,
): Gateway {
  return new Gateway(
    {
      listen: openAiAddress({ ...settings, httpPort: port }) as Address,
      listenField: OPENAI_LISTEN_FIELD,
      ...(version === undefined ? {} : { version }),
      ...(statusAddress === undefined ? {} : { statusAddress }),
      sharesPort: sharers > 1,
      wantsTokens: settings.routerMode === 'kv',
      sessionAffinity: settings.sessionAffinity,
      neighbourHintTokens: settings.neighbourHints,
      bodyLimitBytes: settings.httpBodyLimitBytes,
      maxConnections: connectionsOfEach(settings, sharers),
      corsOrigins: settings.corsOrigins,
    },
    {
      ...surroundings,
      clock,
      logger,
      tokens,
      proxy,
      engines,
      ...(keys === undefined ? {} : { apiKeys: () => keys.current() }),
      ...(tracer === undefined ? {} : { tracer }),
      ...(tls === undefined ? {} : { tls }),
    },
  );
}

/** Connections and requests of each of so many processes. */
export function connectionsOfEach({ maxConnections }: GatewaySettings, sharers: number): number {
  return Math.ceil(maxConnections / sharers);
}

/** Logs that requests are taken, and where. */
export function logServing(
  settings: FrontendSettings,
  { logger, version }: Pick<FrontendModules, 'logger' | 'version'>,
  about: {
    readonly openAi: Address;
    /** Absent where the router is that of another process. */
    readonly grpc?: Address;
    readonly http?: Address;
    readonly watched: string;
    /** Processes that serve HTTP, where it is not this one. */
    readonly threads?: number;
  },
): void {
  const { openAi, grpc, http, watched, threads } = about;
  const isPlaintext = settings.tlsCert === undefined;
  if (isPlaintext && !isLoopback(openAi))
    logger.warn(
      {},
      `Requests and API keys come in plaintext on ${openAi.text}: everybody on the way can read them.`,
    );
  const scheme = isPlaintext ? 'http' : 'https';
  const fields = {
    openai: openAi.text,
    ...(grpc === undefined ? {} : { grpc: grpc.text }),
    ...(http === undefined ? {} : { http: http.text }),
    workers: watched,
    router: settings.routerMode,
  };
  logger.info(
    threads === undefined ? fields : { ...fields, threads },
    `kv-accord frontend ${version} serves OpenAI's API on ${scheme}://${openAi.text}/v1 and watches ${watched}`,
  );
}

/** The base URLs of `--worker-urls`; the settings were checked before. */
export function givenUrlsOf({ workerUrls }: Pick<EngineSettings, 'workerUrls'>): GivenUrls {
  const urls = readWorkerUrls(workerUrls);
  return 'allowed' in urls ? new Map() : urls;
}

/** Where the workers of a catalogue are. */
export function baseUrlsOf({ groups }: Catalogue): ReadonlySet<string> {
  return new Set(groups.flatMap(({ workers }) => workers.flatMap(({ baseUrl }) => baseUrl ?? [])));
}

async function openTokens(
  settings: EngineSettings,
  engines: Pick<TokenSourceOptions, 'engineApiKey' | 'mayHaveKeys' | 'engineCa'>,
  modules: Pick<FrontendModules, 'clock' | 'logger'>,
): Promise<TokenSource> {
  const { tokenizer, routerMode } = settings;
  // Only the cache-aware router looks at tokens: a vocabulary need not be read for the others.
  const isFolder = tokenizer !== 'engine' && routerMode === 'kv';
  try {
    return await createTokenSource(
      {
        tokenizer: isFolder ? { folder: tokenizer } : 'engine',
        engineTimeoutMs: settings.tokenizeTimeoutMs,
        ...engines,
      },
      modules,
    );
  } catch (error) {
    throw error instanceof TokenizerFolderError ? new SettingError(`--tokenizer ${error.message}`) : error;
  }
}
