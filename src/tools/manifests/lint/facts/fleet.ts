import { posix } from 'node:path';
import { addTo } from '../../../../core/data/group-by.js';
import type { ObjectIdentity, PodSite } from '../../pod-site.js';
import type { DynamoVersion } from '../launches/dynamo-version.js';
import { installedVersions } from '../launches/installed-version.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { readLaunches, readScriptSets } from '../launches/read-launches.js';
import type { TextSource } from '../text/span.js';
import { withoutOtherBranches } from './branches.js';
import { withDiscovery } from './discovery.js';
import type { Material } from './material.js';
import { NO_OVERLAYS, type Overlays, withoutCertainty } from './overlays.js';
import { withOwnRouters } from './own-routers.js';
import { apartByPools } from './pool-members.js';
import { type FrontendFacts, readFrontendFacts } from './router-facts.js';
import { joinedScripts } from './script-sets.js';
import { hasRouting, hasWorker, readViews, routerOf, routerOfValues } from './views.js';
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
  const groups = new Map<string, Launch[]>();
  const overlayOf = new Map<string, string>();
  const outside = new Map<string, Launch[]>();
  const graphs = new Map<ObjectIdentity, number>();
  const add = (to: Map<string, Launch[]>, key: string, launches: readonly Launch[]): void => {
    for (const launch of launches) addTo(to, key, launch);
  };
  const isAlone = (file: string): boolean => !overlays.files.has(posix.normalize(file));
  for (const { source, site } of material.sites) {
    if (!isAlone(source.file)) continue;
    const read = readLaunches(source, site, material);
    if (read.length === 0) continue;
    const isChanged = material.kustomizations.isChangedElsewhere(posix.dirname(source.file));
    const launches = isChanged ? read.map((one) => withoutCertainty(one)) : read;
    if (site.kind === 'DynamoGraphDeployment') add(groups, graphOf(site, graphs), launches);
    else add(outside, source.file, launches);
  }
  for (const { file, beside } of material.others)
    if (isAlone(file) && beside.length > 0) add(outside, file, beside);
  const files = [...outside].map(([file, launches]) => ({ file, launches }));
  const working = overlays.programs
    .filter(({ views, isScript }) => isScript !== true && views.some((launches) => hasWorker({ launches })))
    .map(({ file }) => file);
  const isHalf = (set: readonly Launch[]): boolean =>
    set.some(({ section }) => section !== undefined) && !hasRouting({ launches: set });
  const halves = material.others.filter(({ sets }) => sets.some(isHalf)).map(({ file }) => file);
  for (const [number, { file, sets }] of material.others.entries()) {
    if (!isAlone(file)) continue;
    for (const [index, set] of sets.entries()) {
      const router = isHalf(set)
        ? routerOfValues(file, files.filter(isOfValues), working, halves)
        : undefined;
      add(groups, `set ${index} of ${number}`, [...set, ...(router?.launches ?? [])]);
    }
  }
  const together = readViews(files, material.kustomizations, working);
  const groupsOf = together.flatMap((view) => withOwnRouters(view.flatMap(({ launches }) => launches)));
  for (const [index, launches] of groupsOf.entries()) {
    const namespaceIn = namespacesIn(launches);
    for (const launch of launches) add(groups, `view ${index}/${namespaceIn(launch)}`, [launch]);
  }
  for (const [number, { file, views, sets, isWhole, isScript }] of overlays.programs.entries()) {
    const addOwn = (key: string, launch: Launch): void => {
      const full = `overlay ${number}/${key}`;
      if (isScript !== true) overlayOf.set(full, file);
      add(groups, full, [launch]);
    };
    for (const [index, view] of views.flatMap(withOwnRouters).entries()) {
      const namespaceIn = namespacesIn(view);
      const isHalf = isWhole && hasWorker({ launches: view }) && !hasRouting({ launches: view });
      const router = isHalf ? routerOf(file, files, working) : undefined;
      for (const launch of [...view, ...(router?.launches ?? [])])
        addOwn(
          launch.site?.kind === 'DynamoGraphDeployment'
            ? graphOf(launch.site, graphs)
            : // The values of a picker's chart say of no namespace.
              `${index}/${router === undefined ? namespaceIn(launch) : ''}`,
          launch,
        );
    }
    for (const [index, set] of sets.entries()) for (const launch of set) addOwn(`set ${index}`, launch);
  }
  const installed = installedVersions(scripts, material.tree);
  const started = scripts.map((script) => ({
    file: script.file,
    sets: readScriptSets(script, material, installed(script.file) ?? material.platformVersion),
  }));
  for (const [index, { sets }] of started.entries())
    for (const [part, set] of sets.entries()) add(groups, `script ${index}/${part}`, set);
  // Of programs that run one after the other it is not known which of them another script means.
  const whole = started.map(({ file, sets: [set = [], ...more] }) => ({
    file,
    launches: more.length === 0 ? set : [],
  }));
  for (const [index, launches] of joinedScripts(whole).entries()) add(groups, `scripts ${index}`, launches);
  const pools = [...material.pools, ...overlays.programs.flatMap((one) => one.pools)];
  return [...groups].flatMap(([key, group]) =>
    withDiscovery(group)
      .flatMap((together) => apartByPools(together, pools))
      .flatMap((together) => {
        const ways = withoutOtherBranches(together);
        return ways.map((launches) =>
          toFleet(launches, material.platformVersion, overlayOf.get(key), ways.length > 1),
        );
      }),
  );
}

/** Whether what routes in a file is of a chart's values: a manifest has its own workers beside it. */
function isOfValues({ launches }: { readonly launches: readonly Launch[] }): boolean {
  return launches.every(({ site, owner }) => site === undefined && owner?.kind === undefined);
}

/** By the object and not by its name: examples in one folder are often called the same. */
function graphOf(site: PodSite, graphs: Map<ObjectIdentity, number>): string {
  const graph = graphs.get(site.object) ?? graphs.size;
  graphs.set(site.object, graph);
  return `graph ${graph}/${site.dynamoNamespace ?? ''}`;
}

/**
 * Where the programs of one deployment run. Values of a chart and a picker's configuration do not say it: they are meant for the workers beside
 * them, where these are in one namespace.
 */
function namespacesIn(launches: readonly Launch[]): (launch: Launch) => string {
  const saysNothing = ({ site, namespace }: Launch): boolean => site === undefined && namespace === undefined;
  const [only, ...more] = new Set(launches.filter((one) => !saysNothing(one)).map(namespaceOf));
  return (launch) =>
    only !== undefined && more.length === 0 && saysNothing(launch) ? only : namespaceOf(launch);
}

function namespaceOf(launch: Launch): string {
  const { site } = launch;
  const graph = site?.labels.get('nvidia.com/dynamo-graph-deployment-name') ?? '';
  return `${site?.namespace ?? launch.namespace ?? ''}/${graph}`;
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
