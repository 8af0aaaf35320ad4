import type { Registry } from 'prom-client';
import type { MemberView } from '../core/agreement/view/snapshot.js';
import { FleetHistory } from '../core/view/fleet-history.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import type { Random } from '../edge/platform/random.js';
import { systemEventLoop } from '../edge/platform/time/event-loop.js';
import type { CreateFleetPart } from '../fleet/aggregator/fleet-part.js';
import { FleetIndexing, type FleetIndexingOptions } from '../fleet/indexer/fleet-indexing.js';
import type { CreateEngineReader } from '../fleet/indexer/relays/direct-worker.js';
import { DEFAULT_COST_WEIGHTS } from '../fleet/router/choice/cost.js';
import { FleetRouter, type FleetRouterOptions } from '../fleet/router/fleet-router.js';
import { FleetViewPart } from '../fleet/view/fleet-view.js';

/** The command's defaults, without lines of the log about decisions. */
const DEFAULT_ROUTING: FleetRouterOptions = {
  mode: 'kv',
  temperature: 0,
  weights: DEFAULT_COST_WEIGHTS,
  decisionLog: 'none',
};

export interface FleetPartsOptions {
  /** How the index is kept; absent: there is neither index nor router. */
  readonly indexing?: FleetIndexingOptions;
  /** How the router chooses, where that is not the default; absent: there is no router. */
  readonly routing?: Partial<FleetRouterOptions>;
  /** What the view calls the process. Default `kv-accord aggregator`. */
  readonly title?: string;
  /** The product's version. */
  readonly version: string;
}

export interface FleetPartsModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Reads engines without a sidecar; needed where `indexing` names some. */
  readonly createEngineReader?: CreateEngineReader | undefined;
  /** Whether requests can be sent to a member; by default to each. */
  isReachable?(member: MemberView): boolean;
}

/** What lives on a fleet beside its agreement. */
export interface FleetParts {
  /** For the aggregator. The index comes first, so that the router finds it made when an epoch begins. */
  readonly parts: readonly CreateFleetPart[];
  /** The index; there once the aggregator has made its parts. Throws before, and where there is none. */
  indexing(): FleetIndexing;
  /** The router; there once the aggregator has made its parts. Throws before, and where there is none. */
  routing(): FleetRouter;
}

/** Makes the index and the router of a fleet. */
export function createFleetParts(options: FleetPartsOptions, modules: FleetPartsModules): FleetParts {
  const { createEngineReader, isReachable, ...shared } = modules;
  let indexing: FleetIndexing | undefined;
  let routing: FleetRouter | undefined;
  const { clock, random } = shared;
  // The time of day as it was at the start, and from there on a clock that never steps.
  const offsetMs = clock.wallMs() - clock.monotonicMs();
  const history = new FleetHistory({ now: () => Math.round(offsetMs + clock.monotonicMs()) });
  const createIndexing: CreateFleetPart = ({ runner, edge }) => {
    indexing = new FleetIndexing(options.indexing ?? {}, {
      ...shared,
      edge,
      turns: systemEventLoop,
      fleet: runner,
      ...(createEngineReader === undefined ? {} : { createEngineReader }),
    });
    return indexing;
  };
  const createRouting: CreateFleetPart = ({ runner, edge }) => {
    routing = new FleetRouter(
      { ...DEFAULT_ROUTING, ...options.routing },
      {
        ...shared,
        edge,
        indexes: made(indexing),
        history,
        fleet: runner,
        ...(isReachable === undefined ? {} : { isReachable }),
      },
    );
    return routing;
  };
  const createView: CreateFleetPart = (host) =>
    new FleetViewPart(
      {
        title: options.title ?? 'kv-accord aggregator',
        version: options.version,
        processId: random.uniqueId(),
      },
      { clock, history, router: routing, indexOf: (group) => indexing?.of(group) },
      host,
    );
  return {
    parts: [
      ...(options.indexing === undefined ? [] : [createIndexing]),
      ...(options.indexing === undefined || options.routing === undefined ? [] : [createRouting]),
      createView,
    ],
    indexing: () => made(indexing),
    routing: () => made(routing),
  };
}

function made<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('this part of the fleet is not made');
  return part;
}
