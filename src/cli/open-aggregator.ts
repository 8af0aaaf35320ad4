import type { Registry } from 'prom-client';
import { Aggregator } from '../aggregator/aggregator.js';
import type { MemberView } from '../agreement/snapshot.js';
import type { HttpTls } from '../http/listener.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { createRegistry } from '../platform/metrics.js';
import { systemRandom } from '../platform/random.js';
import type { Routing } from '../router/routing.js';
import { RpcDialer } from '../rpc/channel.js';
import type { aggregatorSettings } from './aggregator-settings.js';
import type { WithCommon } from './command.js';
import { hasDiscovery } from './direct-settings.js';
import { createFleetParts } from './fleet-parts.js';
import { httpSecurityOf } from './http-security.js';
import { agreementOptionsOf, openSource } from './open-feed.js';
import { openSecurity } from './open-security.js';
import type { SettingsOf } from './settings/setting.js';

type Settings = SettingsOf<WithCommon<typeof aggregatorSettings>>;

export interface OpenAggregatorModules {
  /** What the status page calls the process. Default `kv-accord aggregator`. */
  readonly title?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The product's version. */
  readonly version: string;
  /** Whether requests can be sent to a member; by default to each. */
  isReachable?(member: MemberView): boolean;
}

/** An aggregator as the settings describe it, not started yet. */
export interface OpenedAggregator {
  readonly aggregator: Aggregator;
  readonly registry: Registry;
  /** Who decides where requests go. */
  readonly routing: Routing;
  /** What it watches, in words. */
  readonly watched: string;
  /** How its ports are protected; undefined for plaintext. */
  readonly tls: HttpTls | undefined;
  /** Ends the aggregator and lets its files go. */
  close(): Promise<void>;
}

/** Makes what `kv-accord aggregator` and all that is built on it run. What is wrong is the fault of a setting. */
export async function openAggregator(
  settings: Settings,
  modules: OpenAggregatorModules,
): Promise<OpenedAggregator> {
  const { clock, logger, version } = modules;
  const source = await openSource(settings, { clock, logger });
  const security = await openSecurity(settings, modules);
  const httpSecurity = httpSecurityOf(security, settings);
  const registry = createRegistry({ version });
  const { parts, directWorkers, routing } = await createFleetParts(settings, { ...modules, registry });
  const aggregator = new Aggregator(
    {
      agreement: {
        ...agreementOptionsOf(settings, settings.onChange, source),
        kvEvents: settings.kvEvents ? 'exact' : 'approximate',
      },
      listen: settings.listen,
      httpListen: settings.httpListen,
      expectedModels: settings.expectedModels,
      version,
      ...(modules.title === undefined ? {} : { title: modules.title }),
    },
    {
      clock,
      logger,
      random: systemRandom,
      source,
      security,
      httpSecurity,
      registry,
      dialer: new RpcDialer({}, { clock, security }),
      parts,
    },
  );
  return {
    aggregator,
    registry,
    routing: routing(),
    tls: httpSecurity.tls,
    watched: [
      ...(hasDiscovery(settings) ? [source.name] : []),
      ...(directWorkers > 0 ? [`engines read directly: ${directWorkers}`] : []),
    ].join(', '),
    close: async () => {
      await aggregator.stop();
      security.close();
    },
  };
}
