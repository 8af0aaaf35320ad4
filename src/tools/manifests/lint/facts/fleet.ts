import type { DynamoVersion } from '../launches/dynamo-version.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { isOwnGate } from '../launches/own-gates.js';
import type { TextSource } from '../text/span.js';
import { withoutOtherBranches } from './branches.js';
import { withDiscovery } from './discovery.js';
import { groupFleets } from './fleet-groups.js';
import type { Material } from './material.js';
import { NO_OVERLAYS, type Overlays } from './overlays.js';
import { apartByPools } from './pool-members.js';
import { type FrontendFacts, readFrontendFacts } from './router-facts.js';
import { hasCache, readWorkerFacts, type WorkerFacts } from './worker-facts.js';

/** Processes that serve together. */
export interface Fleet {
  readonly launches: readonly Launch[];
  readonly workers: readonly WorkerFacts[];
  /** Those that register themselves with Dynamo: no program of Dynamo's knows of the others. */
  readonly dynamoWorkers: readonly WorkerFacts[];
  readonly frontends: readonly FrontendFacts[];
  readonly routers: readonly Launch[];
  readonly indexers: readonly Launch[];
  readonly pickers: readonly Launch[];
  /** kv-accord's own. */
  readonly own: readonly Launch[];
  /** Those of kv-accord's own that look for workers: its sidecars do not. */
  readonly ownGates: readonly Launch[];
  /** Routers of others than Dynamo. */
  readonly gateways: readonly Launch[];
  /** Programs that are seen and compared with nothing. */
  readonly unchecked: readonly Launch[];
  /** The kustomization that builds them. */
  readonly overlay?: string | undefined;
  /** Whether a script has other branches with other programs: what would be right here may be wrong there. */
  readonly isOneWay?: boolean;
}

/**
 * The fleets of what was read. A graph of Dynamo is one fleet, or one for each
 * of its Dynamo namespaces; other workloads of one deployment are together by their Kubernetes
 * namespace (see `readViews`); a script is one, and so are scripts of one folder of which one names the
 * addresses of the others (see `joinedScripts`); and all of them are apart where Dynamo keeps them apart
 * (see `withDiscovery`). Nothing is ever compared across two.
 * What an overlay builds is looked at as it builds it, and its files are left out.
 */
export function readFleets(
  material: Material,
  scripts: readonly TextSource[],
  overlays: Overlays = NO_OVERLAYS,
): readonly Fleet[] {
  const pools = [...material.pools, ...overlays.programs.flatMap((one) => one.pools)];
  return groupFleets(material, scripts, overlays).flatMap(({ launches: group, overlay }) =>
    withDiscovery(group)
      .flatMap((together) => apartByPools(together, pools))
      .flatMap((together) => {
        const ways = withoutOtherBranches(together);
        return ways.map((launches) => toFleet(launches, material.platformVersion, overlay, ways.length > 1));
      }),
  );
}

function toFleet(
  given: readonly Launch[],
  platformVersion: DynamoVersion | undefined,
  overlay: string | undefined,
  isOneWay: boolean,
): Fleet {
  const launches = given.map((one) => withVersion(one, platformVersion));
  const of = (role: Launch['role']): readonly Launch[] => launches.filter((one) => one.role === role);
  const workers = of('worker')
    .filter(hasCache)
    .map((one) => readWorkerFacts(one));
  return {
    launches: launches.filter(({ role }) => role !== 'unchecked'),
    workers,
    dynamoWorkers: workers.filter(({ launch }) => launch.isDynamo),
    frontends: of('frontend').map((one) => readFrontendFacts(one)),
    routers: of('router'),
    indexers: of('indexer'),
    pickers: of('picker'),
    own: of('kv-accord'),
    ownGates: of('kv-accord').filter(isOwnGate),
    gateways: of('gateway'),
    unchecked: of('unchecked'),
    overlay,
    isOneWay,
  };
}

/**
 * An image without a version is the one of the repository that it is in: of a frontend in each case, and of the other programs of Dynamo
 * where the image is filled in later.
 */
function withVersion(launch: Launch, version: DynamoVersion | undefined): Launch {
  if (version === undefined || launch.version !== undefined || !launch.isDynamo) return launch;
  const isOpen = /[$<{]/.test(launch.container?.image?.value ?? '');
  return launch.role === 'frontend' || isOpen ? { ...launch, version } : launch;
}

/** Names in one message, and workers that are looked at for them. */
const MAX_NAMES = 3;
const MAX_NAMED = 20;

/** Several workers for a message, without repeating names. */
export function namesOf(workers: readonly WorkerFacts[]): string {
  const names = [...new Set(workers.slice(0, MAX_NAMED).map(({ launch }) => nameOf(launch)))];
  const more = names.length > MAX_NAMES || workers.length > MAX_NAMED ? ' and others' : '';
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
