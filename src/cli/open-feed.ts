import type { AgreementFeed } from '../aggregator/agreement-feed.js';
import { createDiscoverySource } from '../aggregator/discovery/create-source.js';
import { DiscoveryError } from '../aggregator/discovery/discovery-error.js';
import type { DiscoverySource } from '../aggregator/discovery/source.js';
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
import { openSecurity } from './open-security.js';
import type { SettingsOf } from './settings/setting.js';
import { SettingError } from './settings/setting-error.js';

type CollectionSettings = SettingsOf<WithCommon<typeof collectionSettings>>;

/** What a command that needs one answer has beside the collection settings. */
interface FeedSettings extends CollectionSettings {
  readonly aggregator: Address | undefined;
  readonly group: string | undefined;
  readonly frontendUses: AgreementOptions['frontendUses'];
}

interface FeedModules {
  readonly clock: Clock;
  readonly logger: Logger;
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
    frontendUses: settings.frontendUses,
    kvEvents: 'exact',
    isStaticDiscovery: source.isStatic,
  };
}

/** Makes the source of a fleet. A wrong target, or a cluster that is not to be found, is the fault of a setting. */
export async function openSource(
  settings: Pick<
    CollectionSettings,
    'workers' | 'workersFile' | 'dynamoGraph' | 'kubeconfig' | 'kubeContext' | 'minWorkers'
  >,
  { clock, logger }: FeedModules,
): Promise<DiscoverySource> {
  const { workers, workersFile, dynamoGraph, kubeconfig, kubeContext, minWorkers } = settings;
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
  { clock, logger }: FeedModules,
): Promise<{ readonly feed: AgreementFeed; close(): Promise<void> }> {
  const { aggregator, group } = settings;
  // Before files are opened: a wrong target must leave nothing behind.
  const way =
    aggregator === undefined ? { source: await openSource(settings, { clock, logger }) } : { aggregator };
  const security = await openSecurity(settings, { clock, logger });
  const dialer = new RpcDialer({}, { clock, security });
  const modules = { clock, dialer, logger, random: systemRandom };
  const feed =
    'aggregator' in way
      ? new RemoteAgreement({ address: way.aggregator, group: group ?? '' }, modules)
      : new FleetWatch(agreementOptionsOf(settings, 'new-epoch', way.source), {
          ...modules,
          source: way.source,
        });
  return {
    feed,
    close: async () => {
      await feed.close();
      security.close();
    },
  };
}
