import type { Registry } from 'prom-client';
import type { WithCommon } from '../cli/command.js';
import type { aggregatorSettings } from '../cli/commands/aggregator/settings.js';
import { hasDiscovery } from '../cli/settings/direct-settings.js';
import type { SettingsOf } from '../cli/settings/setting.js';
import type { MemberView } from '../core/agreement/snapshot.js';
import type { HttpTls } from '../edge/http/listener.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { createRegistry } from '../edge/platform/metrics/metrics.js';
import { systemRandom } from '../edge/platform/random.js';
import { RpcDialer } from '../edge/rpc/channel.js';
import { Aggregator } from '../fleet/aggregator/aggregator.js';
import type { Routing } from '../fleet/router/routing.js';
import { createFleetParts } from './fleet-parts.js';
import { httpSecurityOf } from './http-security.js';
import { agreementOptionsOf, openSource } from './open-feed.js';
import { openSecurity } from './open-security.js';

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
