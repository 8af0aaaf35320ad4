import type { Registry } from 'prom-client';
import type { WithCommon } from '../cli/command.js';
import type { aggregatorSettings } from '../cli/commands/aggregator/settings.js';
import { directWorkersOf } from '../cli/settings/direct-settings.js';
import type { SettingsOf } from '../cli/settings/setting.js';
import type { MemberView } from '../core/agreement/snapshot.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { systemRandom } from '../edge/platform/random.js';
import { systemEventLoop } from '../edge/platform/time/event-loop.js';
import type { CreateFleetPart } from '../fleet/aggregator/fleet-part.js';
import { FleetIndexing, type FleetIndexingOptions } from '../fleet/indexer/fleet-indexing.js';
import { FleetRouting, type FleetRoutingOptions } from '../fleet/router/fleet-routing.js';
import type { Routing } from '../fleet/router/routing.js';

type Settings = SettingsOf<WithCommon<typeof aggregatorSettings>>;

export interface FleetPartsModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** The product's version. */
  readonly version: string;
  /** Whether requests can be sent to a member; by default to each. */
  isReachable?(member: MemberView): boolean;
}

/** What lives on a fleet beside its agreement. */
export interface FleetParts {
  /** For the aggregator. The index comes first, so that the router finds it made when an epoch begins. */
  readonly parts: readonly CreateFleetPart[];
  /** Engines that are read here because they have no sidecar. */
  readonly directWorkers: number;
  /** Who decides where requests go; there once the aggregator has made its parts. */
  routing(): Routing;
}

/** The index and the router of `kv-accord aggregator` and of all that is built on it. */
export async function createFleetParts(settings: Settings, modules: FleetPartsModules): Promise<FleetParts> {
  const { clock, logger, registry, version, isReachable } = modules;
  const directWorkers = directWorkersOf(settings, version);
  // ZeroMQ and all that reads with it is loaded only where there is something to read.
  const direct = directWorkers.length === 0 ? undefined : await import('../fleet/indexer/direct-worker.js');
  let indexing: FleetIndexing | undefined;
  let routing: FleetRouting | undefined;
  return {
    directWorkers: directWorkers.length,
    parts: [
      ({ runner, edge }) => {
        indexing = new FleetIndexing(
          { directWorkers, maxBytes: settings.indexMemoryBytes, ...approximateOf(settings) },
          {
            clock,
            logger,
            registry,
            edge,
            random: systemRandom,
            turns: systemEventLoop,
            fleet: runner,
            ...(direct === undefined
              ? {}
              : { createDirectWorker: (options, its) => new direct.DirectWorker(options, its) }),
          },
        );
        return indexing;
      },
      ({ runner, edge }) => {
        routing = new FleetRouting(routingOptionsOf(settings), {
          clock,
          logger,
          registry,
          edge,
          random: systemRandom,
          indexes: made(indexing),
          fleet: runner,
          ...(isReachable === undefined ? {} : { isReachable }),
        });
        return routing;
      },
    ],
    routing: () => made(routing),
  };
}

function made<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('the parts of the fleet are not made yet');
  return part;
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

function routingOptionsOf(settings: Settings): FleetRoutingOptions {
  const { logLevel } = settings;
  return {
    mode: settings.routerMode,
    temperature: settings.routerTemperature,
    weights: {
      overlapScoreWeight: settings.kvOverlapScoreWeight,
      hostCacheHitWeight: settings.routerHostCacheHitWeight,
      diskCacheHitWeight: settings.routerDiskCacheHitWeight,
    },
    predictsOnRoute: settings.routerPredictOnRoute,
    seed: settings.routerSeed,
    decisionLog: logLevel === 'debug' ? 'candidates' : logLevel === 'info' ? 'chosen' : 'none',
  };
}
