import { Aggregator } from '../aggregator/aggregator.js';
import type { DiscoverySource } from '../aggregator/discovery/source.js';
import { StaticSource } from '../aggregator/discovery/static.js';
import type { DirectWorkerOptions } from '../indexer/direct-worker.js';
import { FleetIndexing, type FleetIndexingOptions } from '../indexer/fleet-indexing.js';
import type { Clock } from '../platform/clock.js';
import { createRegistry } from '../platform/metrics.js';
import { systemRandom } from '../platform/random.js';
import { systemTurns } from '../platform/turns.js';
import { RpcDialer } from '../rpc/channel.js';
import type { aggregatorSettings } from './aggregator-settings.js';
import type { CommandBody, WithCommon } from './command.js';
import { readDirectSources } from './direct-sources.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import { httpSecurityOf } from './http-security.js';
import { agreementOptionsOf, openSource } from './open-feed.js';
import { openSecurity } from './open-security.js';
import type { SettingsOf } from './settings/setting.js';
import { startOrExplain } from './start-or-explain.js';

type Settings = SettingsOf<WithCommon<typeof aggregatorSettings>>;

/** Runs `kv-accord aggregator` until it is asked to end, or refuses a change. */
export const runAggregator: CommandBody<typeof aggregatorSettings> = async (settings, context) => {
  const { clock, logger, signal, version } = context;
  const source = sourceOf(settings, clock);
  const security = await openSecurity(settings, context);
  const registry = createRegistry({ version });
  const directWorkers = directWorkersOf(settings, version);
  // ZeroMQ and all that reads with it is loaded only where there is something to read.
  const direct = directWorkers.length === 0 ? undefined : await import('../indexer/direct-worker.js');
  const watched = [
    ...(hasSidecars(settings) ? [source.name] : []),
    ...(directWorkers.length > 0 ? [`engines read directly: ${directWorkers.length}`] : []),
  ].join(', ');
  const aggregator = new Aggregator(
    {
      agreement: {
        ...agreementOptionsOf(settings, settings.onChange, source),
        kvEvents: settings.kvEvents ? 'exact' : 'approximate',
      },
      listen: settings.listen,
      httpListen: settings.httpListen,
      version,
    },
    {
      clock,
      logger,
      random: systemRandom,
      source,
      security,
      httpSecurity: httpSecurityOf(security, settings),
      registry,
      dialer: new RpcDialer({}, { clock, security }),
      parts: [
        ({ runner, edge }) =>
          new FleetIndexing(
            { directWorkers, maxBytes: settings.indexMemoryBytes, ...approximateOf(settings) },
            {
              clock,
              logger,
              registry,
              edge,
              random: systemRandom,
              turns: systemTurns,
              fleet: runner,
              ...(direct === undefined
                ? {}
                : { createDirectWorker: (options, modules) => new direct.DirectWorker(options, modules) }),
            },
          ),
      ],
    },
  );
  try {
    const { grpc, http } = await startOrExplain(aggregator);
    logger.info(
      { grpc: grpc.text, http: http.text, workers: watched },
      `kv-accord aggregator ${version} watches ${watched}`,
    );
    const stopped = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const refusal = await Promise.race([aggregator.refused, stopped]);
    return refusal === undefined ? EXIT_OK : EXIT_CONFLICT;
  } finally {
    await aggregator.stop();
    security.close();
  }
};

function hasSidecars({ workers, workersFile }: Settings): boolean {
  return workers.length > 0 || workersFile !== undefined;
}

/** The sidecars' discovery; with none named, a list that is empty for good. */
function sourceOf(settings: Settings, clock: Clock): DiscoverySource {
  return hasSidecars(settings) ? openSource(settings, clock) : new StaticSource({ addresses: [] });
}

/** The engines that are read directly; the settings were checked before. */
function directWorkersOf(settings: Settings, version: string): DirectWorkerOptions[] {
  const sources = readDirectSources(settings.kvEventSources);
  const replays = readDirectSources(settings.kvReplaySources);
  if ('allowed' in sources || 'allowed' in replays) return [];
  return [...sources].map(([target, urls]) => ({
    target,
    version,
    model: settings.model ?? '',
    declaredTokensPerBlock: settings.kvCacheBlockSize,
    sources: urls.map((endpoint, rank) => {
      const replayEndpoint = replays.get(target)?.[rank];
      return { rank, endpoint, topic: '', ...(replayEndpoint === undefined ? {} : { replayEndpoint }) };
    }),
  }));
}

function approximateOf(settings: Settings): Pick<FleetIndexingOptions, 'approximate'> {
  if (settings.kvEvents) return {};
  return {
    approximate: {
      ttlMs: settings.routerTtlSecs * 1_000,
      maxBlocks: settings.routerMaxTreeSize,
      pruneTargetRatio: settings.routerPruneTargetRatio,
    },
  };
}
