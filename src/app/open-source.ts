import type { AgreementOptions } from '../core/agreement/state/options.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemResolver } from '../edge/platform/net/resolver.js';
import { readEnvironment } from '../edge/platform/processes/environment.js';
import { systemRandom } from '../edge/platform/random.js';
import { createDiscoverySource } from '../fleet/discovery/create-source.js';
import { DiscoveryError } from '../fleet/discovery/discovery-error.js';
import type { DiscoverySource } from '../fleet/discovery/source.js';
import { StaticSource } from '../fleet/discovery/static.js';
import { hasDiscovery, type WorkerPlaces } from './has-discovery.js';
import { SettingError } from './setting-error.js';

/** Where workers are found, and how a cluster is reached that knows them. */
export interface SourceSettings extends WorkerPlaces, Pick<AgreementOptions, 'minWorkers'> {
  readonly kubeconfig: string | undefined;
  readonly kubeContext: string | undefined;
}

/**
 * Makes the source of a fleet; with no place named, a list that stays empty.
 * Rejects with a `SettingError` for a wrong target, or a cluster that is not
 * found; nothing is left open then.
 */
export async function openSource(
  settings: SourceSettings,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<DiscoverySource> {
  const { workers, workersFile, dynamoGraph, pool, kubeconfig, kubeContext, minWorkers } = settings;
  if (!hasDiscovery(settings)) {
    if (minWorkers !== 'auto') return new StaticSource({ addresses: [] });
    throw new SettingError(
      '--min-workers auto needs workers that Kubernetes runs: give --workers k8s://… or a number',
    );
  }
  try {
    return await createDiscoverySource(
      {
        workers,
        workersFile,
        dynamoGraph,
        pool,
        kubeconfig,
        kubeContext,
        countsExpected: minWorkers === 'auto',
      },
      { clock, logger, random: systemRandom, resolver: systemResolver, environment: readEnvironment() },
    );
  } catch (error) {
    throw error instanceof DiscoveryError ? new SettingError(error.message) : error;
  }
}
