import type { Address } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import { RpcDialer } from '../edge/rpc/channel.js';
import type { SecurityOptions } from '../edge/security/load-security.js';
import type { AgreementSource } from '../fleet/aggregator/agreement-source.js';
import { FleetWatch } from '../fleet/aggregator/fleet-watch.js';
import { RemoteAgreement } from '../fleet/aggregator/remote-agreement.js';
import { type AgreementSettings, agreementOptionsOf } from './agreement-options.js';
import { type DirectEngines, directWorkersOf } from './direct-workers.js';
import { observeEngines } from './observe-engines.js';
import { openSecurity } from './open-security.js';
import { openSource, type SourceSettings } from './open-source.js';

/** Whose agreement is followed: a running aggregator's, or that of workers which this process watches itself. */
export interface AgreementSourceSettings
  extends SourceSettings,
    AgreementSettings,
    DirectEngines,
    SecurityOptions {
  /** The aggregator to ask; undefined watches the workers. */
  readonly aggregator: Address | undefined;
  /** The served model, where an aggregator has several. */
  readonly group: string | undefined;
}

/** Makes what `wait` and `exec` follow. What is wrong with the settings rejects with a `SettingError`. */
export async function openAgreementSource(
  settings: AgreementSourceSettings,
  modules: {
    readonly clock: Clock;
    readonly logger: Logger;
    /** The product's version. */
    readonly version: string;
  },
): Promise<{ readonly source: AgreementSource; close(): Promise<void> }> {
  const { clock, logger, version } = modules;
  const { aggregator, group } = settings;
  // Before files are opened: a wrong target must leave nothing behind.
  const way =
    aggregator === undefined ? { discovery: await openSource(settings, { clock, logger }) } : { aggregator };
  const security = await openSecurity(settings, { clock, logger });
  const shared = { clock, dialer: new RpcDialer({}, { clock, security }), logger, random: systemRandom };
  if ('aggregator' in way) {
    const remote = new RemoteAgreement({ address: way.aggregator, group: group ?? '' }, shared);
    return {
      source: remote,
      close: async () => {
        await remote.close();
        security.close();
      },
    };
  }
  const { discovery } = way;
  const fleet = new FleetWatch(
    agreementOptionsOf(settings, {
      onChange: 'new-epoch',
      kvEvents: 'unused',
      isStaticDiscovery: discovery.isStatic,
    }),
    { ...shared, source: discovery },
  );
  const observers = await observeEngines(fleet, directWorkersOf(settings, version), { clock, logger });
  return {
    source: fleet,
    close: async () => {
      await fleet.close();
      await observers?.close();
      security.close();
    },
  };
}
