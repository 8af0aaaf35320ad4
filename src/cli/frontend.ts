import type { FleetView } from '../agreement/snapshot.js';
import { baseUrlOf, buildCatalogue, type Catalogue, type GivenUrls } from '../frontend/catalogue.js';
import { Gateway } from '../frontend/gateway.js';
import { WorkerProxy } from '../frontend/proxy/worker-proxy.js';
import { frontendChecks } from '../frontend/readiness.js';
import type { TokenSource } from '../frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../frontend/tokens/token-source.js';
import { TokenizerFolderError } from '../frontend/tokens/tokenizer-folder.js';
import { openTracing } from '../frontend/tracing/open-tracing.js';
import { ProbeBoard } from '../http/probe-board.js';
import type { Address } from '../platform/address.js';
import { isLoopback } from '../platform/address.js';
import type { CommandBody, CommandContext, WithCommon } from './command.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import { type frontendSettings, openAiAddress } from './frontend-settings.js';
import { openAggregator } from './open-aggregator.js';
import { openApiKeys } from './open-api-keys.js';
import type { SettingsOf } from './settings/setting.js';
import { SettingError } from './settings/setting-error.js';
import { startOrExplain } from './start-or-explain.js';
import { untilAborted } from './until-aborted.js';
import { readWorkerUrls } from './worker-urls.js';

type Settings = SettingsOf<WithCommon<typeof frontendSettings>>;
type Context = CommandContext<typeof frontendSettings>;

/** What was opened, with how it is closed; the last one first. */
type Closing = (() => unknown)[];

/** Longest silence of a worker, and longest wait for its first byte. */
const MAX_SILENCE_MS = 600_000;

/** Runs `kv-accord frontend` until it is asked to end, or refuses a change. */
export const runFrontend: CommandBody<typeof frontendSettings> = async (settings, context) => {
  const closing: Closing = [];
  try {
    return await serve(settings, context, closing);
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

async function serve(settings: Settings, context: Context, closing: Closing): Promise<number> {
  const { clock, logger, signal, version, environment } = context;
  const modules = { clock, logger };
  const given = givenUrlsOf(settings);
  const keys =
    settings.apiKeyFile === undefined ? undefined : await openApiKeys(settings.apiKeyFile, modules);
  closing.push(() => keys?.close());
  const tokens = await openTokens(settings, context);
  closing.push(() => tokens.close());
  const tracer = await openTracing({ environment, version }, modules);
  closing.push(() => tracer?.close());
  const opened = await openAggregator(settings, {
    ...modules,
    version,
    isReachable: (member) => baseUrlOf(member, given) !== undefined,
  });
  closing.push(() => opened.close());
  const { aggregator, registry, routing, tls, watched } = opened;
  const proxy = new WorkerProxy(
    {
      connectTimeoutMs: settings.connectTimeoutMs,
      headersTimeoutMs: Math.min(settings.requestTimeoutMs, MAX_SILENCE_MS),
      idleTimeoutMs: Math.min(settings.requestTimeoutMs, MAX_SILENCE_MS),
      totalTimeoutMs: settings.requestTimeoutMs,
      passesAuthorization: keys === undefined,
      decisionHeaders: settings.decisionHeaders,
    },
    modules,
  );
  closing.push(() => proxy.close(0));
  const probes = new ProbeBoard();
  let catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  const show = (view: FleetView): void => {
    catalogue = buildCatalogue(view, given);
    probes.set('readyz', frontendChecks(view, catalogue));
    proxy.setWorkers(baseUrlsOf(catalogue));
  };
  const { runner } = aggregator.fleet;
  show(runner.view);
  closing.push(runner.listen({ onView: show }));
  const gateway = new Gateway(
    {
      listen: openAiAddress(settings) as Address,
      listenField: '--http-port',
      wantsTokens: settings.routerMode === 'kv',
      bodyLimitBytes: settings.httpBodyLimitBytes,
      maxConnections: settings.maxConnections,
      corsOrigins: settings.corsOrigins,
    },
    {
      ...modules,
      registry,
      catalogue: () => catalogue,
      routing,
      tokens,
      proxy,
      probes,
      ...(keys === undefined ? {} : { apiKeys: () => keys.current() }),
      ...(tracer === undefined ? {} : { tracer }),
      ...(tls === undefined ? {} : { tls }),
    },
  );
  const { grpc, http } = await startOrExplain(aggregator);
  // Before the aggregator: what runs needs its router to the end.
  closing.push(() => gateway.drain(settings.drainTimeoutMs));
  const openAi = await startOrExplain(gateway);
  if (tls === undefined && !isLoopback(openAi))
    logger.warn(
      {},
      `Requests and API keys come in plaintext on ${openAi.text}: everybody on the way can read them.`,
    );
  const scheme = tls === undefined ? 'http' : 'https';
  logger.info(
    { openai: openAi.text, grpc: grpc.text, http: http.text, workers: watched, router: settings.routerMode },
    `kv-accord frontend ${version} serves OpenAI's API on ${scheme}://${openAi.text}/v1 and watches ${watched}`,
  );
  const refusal = await Promise.race([aggregator.refused, untilAborted(signal)]);
  return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
}

/** The settings were checked before. */
function givenUrlsOf({ workerUrls }: Settings): GivenUrls {
  const urls = readWorkerUrls(workerUrls);
  return 'allowed' in urls ? new Map() : urls;
}

async function openTokens(settings: Settings, modules: Context): Promise<TokenSource> {
  const { tokenizer, routerMode } = settings;
  // Only the cache-aware router looks at tokens: a vocabulary need not be read for the others.
  const isFolder = tokenizer !== 'engine' && routerMode === 'kv';
  try {
    return await createTokenSource(
      { tokenizer: isFolder ? { folder: tokenizer } : 'engine', engineTimeoutMs: settings.tokenizeTimeoutMs },
      modules,
    );
  } catch (error) {
    throw error instanceof TokenizerFolderError ? new SettingError(`--tokenizer ${error.message}`) : error;
  }
}

function baseUrlsOf({ groups }: Catalogue): ReadonlySet<string> {
  return new Set(groups.flatMap(({ workers }) => workers.flatMap(({ baseUrl }) => baseUrl ?? [])));
}
