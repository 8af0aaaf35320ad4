import { Aggregator } from '../aggregator/aggregator.js';
import type { DiscoverySource } from '../aggregator/discovery/source.js';
import { StaticSource } from '../aggregator/discovery/static.js';
import type { Clock } from '../platform/clock.js';
import { createRegistry } from '../platform/metrics.js';
import { systemRandom } from '../platform/random.js';
import { RpcDialer } from '../rpc/channel.js';
import type { aggregatorSettings } from './aggregator-settings.js';
import type { CommandBody, WithCommon } from './command.js';
import { EXIT_CONFLICT, EXIT_OK } from './exit-codes.js';
import { createFleetParts } from './fleet-parts.js';
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
  const { parts, directWorkers } = await createFleetParts(settings, { clock, logger, registry, version });
  const watched = [
    ...(hasSidecars(settings) ? [source.name] : []),
    ...(directWorkers > 0 ? [`engines read directly: ${directWorkers}`] : []),
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
      parts,
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
