import type { AgreementFeed } from '../aggregator/agreement-feed.js';
import { createDiscoverySource } from '../aggregator/discovery/create-source.js';
import { DiscoveryError } from '../aggregator/discovery/discovery-error.js';
import type { DiscoverySource } from '../aggregator/discovery/source.js';
import { StaticSource } from '../aggregator/discovery/static.js';
import { FleetWatch } from '../aggregator/fleet-watch.js';
import { RemoteAgreement } from '../aggregator/remote-agreement.js';
import type { AgreementOptions } from '../agreement/options.js';
import type { Address } from '../platform/address.js';
import type { Clock } from '../platform/clock.js';
import { readEnvironment } from '../platform/environment.js';
import type { Logger } from '../platform/logger.js';
import { systemRandom } from '../platform/random.js';
import { systemResolver } from '../platform/resolver.js';
import { RpcDialer } from '../rpc/channel.js';
import type { collectionSettings } from './collection-settings.js';
import type { WithCommon } from './command.js';
import { type directSettings, directWorkersOf, hasDiscovery } from './direct-settings.js';
import { observeEngines } from './observe-engines.js';
import { openSecurity } from './open-security.js';
import type { SettingsOf } from './settings/setting.js';
import { SettingError } from './settings/setting-error.js';

type CollectionSettings = SettingsOf<WithCommon<typeof collectionSettings>>;

/** What a command that needs one answer has beside the collection settings. */
interface FeedSettings extends CollectionSettings, SettingsOf<typeof directSettings> {
  readonly aggregator: Address | undefined;
  readonly group: string | undefined;
  readonly frontendUses: AgreementOptions['frontendUses'];
}

interface SourceModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

interface FeedModules extends SourceModules {
  /** The product's version. */
  readonly version: string;
}

/** How the settings say that a fleet comes to agree. */
export function agreementOptionsOf(
  settings: CollectionSettings & { readonly frontendUses: AgreementOptions['frontendUses'] },
  onChange: AgreementOptions['onChange'],
  source: DiscoverySource,
): AgreementOptions {
  const { kvCacheBlockSize } = settings;
  return {
    minWorkers: settings.minWorkers,
    onMissing: settings.onMissing,
    collectTimeoutMs: settings.collectTimeoutMs,
    settleMs: settings.settleMs,
    graceMs: settings.graceMs,
    overrideTokensPerBlock: kvCacheBlockSize,
    onChange,
    mismatchedWorkers:
      settings.mismatchedWorkers ?? (kvCacheBlockSize === undefined ? 'quarantine' : 'load-only'),
    topology: settings.topology,
    tokenProbes: settings.tokenProbes,
    frontendUses: settings.frontendUses,
    kvEvents: 'exact',
    isStaticDiscovery: source.isStatic,
  };
}

/**
 * Makes the source of a fleet; with none named, a list that is empty for good.
 * A wrong target, or a cluster that is not to be found, is the fault of a setting.
 */
export async function openSource(
  settings: Pick<
    CollectionSettings,
    'workers' | 'workersFile' | 'dynamoGraph' | 'kubeconfig' | 'kubeContext' | 'minWorkers'
  >,
  { clock, logger }: SourceModules,
): Promise<DiscoverySource> {
  const { workers, workersFile, dynamoGraph, kubeconfig, kubeContext, minWorkers } = settings;
  if (!hasDiscovery(settings)) {
    if (minWorkers !== 'auto') return new StaticSource({ addresses: [] });
    throw new SettingError(
      '--min-workers auto needs workers that Kubernetes runs: give --workers k8s://… or a number',
    );
  }
  try {
    return await createDiscoverySource(
      { workers, workersFile, dynamoGraph, kubeconfig, kubeContext, countsExpected: minWorkers === 'auto' },
      { clock, logger, random: systemRandom, resolver: systemResolver, environment: readEnvironment() },
    );
  } catch (error) {
    throw error instanceof DiscoveryError ? new SettingError(error.message) : error;
  }
}

/** Makes what `wait` and `exec` follow: a running aggregator, or the fleet itself. */
export async function openFeed(
  settings: FeedSettings,
  { clock, logger, version }: FeedModules,
): Promise<{ readonly feed: AgreementFeed; close(): Promise<void> }> {
  const { aggregator, group } = settings;
  // Before files are opened: a wrong target must leave nothing behind.
  const way =
    aggregator === undefined ? { source: await openSource(settings, { clock, logger }) } : { aggregator };
  const security = await openSecurity(settings, { clock, logger });
  const modules = { clock, dialer: new RpcDialer({}, { clock, security }), logger, random: systemRandom };
  if ('aggregator' in way) {
    const remote = new RemoteAgreement({ address: way.aggregator, group: group ?? '' }, modules);
    return {
      feed: remote,
      close: async () => {
        await remote.close();
        security.close();
      },
    };
  }
  const { source } = way;
  const feed = new FleetWatch(
    { ...agreementOptionsOf(settings, 'new-epoch', source), kvEvents: 'unused' },
    { ...modules, source },
  );
  const observers = await observeEngines(feed, directWorkersOf(settings, version), { clock, logger });
  return {
    feed,
    close: async () => {
      await feed.close();
      await observers?.close();
      security.close();
    },
  };
}
