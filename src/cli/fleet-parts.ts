import type { Registry } from 'prom-client';
import type { CreateFleetPart } from '../aggregator/fleet-part.js';
import type { MemberView } from '../agreement/snapshot.js';
import { FleetIndexing, type FleetIndexingOptions } from '../indexer/fleet-indexing.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/logger.js';
import { systemRandom } from '../platform/random.js';
import { systemTurns } from '../platform/turns.js';
import { FleetRouting, type FleetRoutingOptions } from '../router/fleet-routing.js';
import type { Routing } from '../router/routing.js';
import type { aggregatorSettings } from './aggregator-settings.js';
import type { WithCommon } from './command.js';
import { directWorkersOf } from './direct-settings.js';
import type { SettingsOf } from './settings/setting.js';

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
  const direct = directWorkers.length === 0 ? undefined : await import('../indexer/direct-worker.js');
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
            turns: systemTurns,
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
