import type { WithCommon } from '../cli/command.js';
import type { collectionSettings } from '../cli/settings/collection-settings.js';
import { type directSettings, directWorkersOf, hasDiscovery } from '../cli/settings/direct-settings.js';
import type { SettingsOf } from '../cli/settings/setting.js';
import { SettingError } from '../cli/settings/setting-error.js';
import type { AgreementOptions } from '../core/agreement/options.js';
import type { Address } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemResolver } from '../edge/platform/net/resolver.js';
import { readEnvironment } from '../edge/platform/processes/environment.js';
import { systemRandom } from '../edge/platform/random.js';
import { RpcDialer } from '../edge/rpc/channel.js';
import type { AgreementFeed } from '../fleet/aggregator/agreement-feed.js';
import { FleetWatch } from '../fleet/aggregator/fleet-watch.js';
import { RemoteAgreement } from '../fleet/aggregator/remote-agreement.js';
import { createDiscoverySource } from '../fleet/discovery/create-source.js';
import { DiscoveryError } from '../fleet/discovery/discovery-error.js';
import type { DiscoverySource } from '../fleet/discovery/source.js';
import { StaticSource } from '../fleet/discovery/static.js';
import { observeEngines } from './observe-engines.js';
import { openSecurity } from './open-security.js';

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
