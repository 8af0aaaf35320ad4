import { posix } from 'node:path';
import { addTo } from '../../../../core/data/group-by.js';
import type { ObjectIdentity, PodSite } from '../../pod-site.js';
import { installedVersions } from '../launches/installed-version.js';
import type { Launch } from '../launches/launch.js';
import { readLaunches, readScriptSets } from '../launches/read-launches.js';
import type { TextSource } from '../text/span.js';
import type { Material } from './material.js';
import { type Overlays, withoutCertainty } from './overlays.js';
import { withOwnRouters } from './own-routers.js';
import { joinedScripts } from './script-sets.js';
import { type FilePrograms, hasRouting, hasWorker, readViews, routerOf, routerOfValues } from './views.js';

/** Programs of one deployment, which other knowledge may still part. */
export interface FleetGroup {
  readonly launches: readonly Launch[];
  /** The kustomization that builds them. */
  readonly overlay: string | undefined;
}

/**
 * What is deployed together, in the order of what was read: graphs of Dynamo, sets of values and of compose files, views of
 * manifests, overlays, scripts.
 */
export function groupFleets(
  material: Material,
  scripts: readonly TextSource[],
  overlays: Overlays,
): readonly FleetGroup[] {
  const groups = new Groups();
  const isAlone = (file: string): boolean => !overlays.files.has(posix.normalize(file));
  const files = addGraphs(groups, material, isAlone);
  const working = overlays.programs
    .filter(({ views, isScript }) => isScript !== true && views.some((launches) => hasWorker({ launches })))
    .map(({ file }) => file);
  addSets(groups, material, isAlone, { files, working });
  addViews(groups, readViews(files, material.kustomizations, working));
  addOverlays(groups, overlays, { files, working });
  addScripts(groups, material, scripts);
  return groups.all();
}

/** Launches under keys of their own, in the order in which the keys came. */
class Groups {
  readonly #launches = new Map<string, Launch[]>();
  readonly #overlays = new Map<string, string>();
  readonly #graphs = new Map<ObjectIdentity, number>();

  add(key: string, launches: readonly Launch[], overlay?: string): void {
    for (const launch of launches) addTo(this.#launches, key, launch);
    if (overlay !== undefined) this.#overlays.set(key, overlay);
  }

  /** The key of a graph of Dynamo: by the object and not by its name, because examples in one folder are often called the same. */
  graphOf(site: PodSite): string {
    const graph = this.#graphs.get(site.object) ?? this.#graphs.size;
    this.#graphs.set(site.object, graph);
    return `graph ${graph}/${site.dynamoNamespace ?? ''}`;
  }

  all(): readonly FleetGroup[] {
    return [...this.#launches].map(([key, launches]) => ({ launches, overlay: this.#overlays.get(key) }));
  }
}

/** What stands around a file that has workers and no router. */
interface Around {
  /** Files with programs that no graph has. */
  readonly files: readonly FilePrograms[];
  /** Kustomizations that build workers. */
  readonly working: readonly string[];
}

/** Adds the graphs of Dynamo. Returns the other programs of manifests, by their files. */
function addGraphs(
  groups: Groups,
  material: Material,
  isAlone: (file: string) => boolean,
): readonly FilePrograms[] {
  const outside = new Map<string, Launch[]>();
  const addOutside = (file: string, launches: readonly Launch[]): void => {
    for (const launch of launches) addTo(outside, file, launch);
  };
  for (const { source, site } of material.sites) {
    if (!isAlone(source.file)) continue;
    const read = readLaunches(source, site, material);
    if (read.length === 0) continue;
    const isChanged = material.kustomizations.isChangedElsewhere(posix.dirname(source.file));
    const launches = isChanged ? read.map((one) => withoutCertainty(one)) : read;
    if (site.kind === 'DynamoGraphDeployment') groups.add(groups.graphOf(site), launches);
    else addOutside(source.file, launches);
  }
  for (const { file, beside } of material.others)
    if (isAlone(file) && beside.length > 0) addOutside(file, beside);
  return [...outside].map(([file, launches]) => ({ file, launches }));
}

/** Adds programs that run together by what their own file says: a compose file, a chart's values, which may have their router elsewhere. */
function addSets(
  groups: Groups,
  { others }: Material,
  isAlone: (file: string) => boolean,
  { files, working }: Around,
): void {
  const isHalf = (set: readonly Launch[]): boolean =>
    set.some(({ section }) => section !== undefined) && !hasRouting({ launches: set });
  const halves = others.filter(({ sets }) => sets.some(isHalf)).map(({ file }) => file);
  const routing = files.filter(isOfValues);
  for (const [number, { file, sets }] of others.entries()) {
    if (!isAlone(file)) continue;
    for (const [index, set] of sets.entries()) {
      const router = isHalf(set) ? routerOfValues(file, routing, working, halves) : undefined;
      groups.add(`set ${index} of ${number}`, [...set, ...(router?.launches ?? [])]);
    }
  }
}

/** Adds what is deployed together outside of graphs, apart by namespaces. */
function addViews(groups: Groups, views: readonly (readonly FilePrograms[])[]): void {
  const together = views.flatMap((view) => withOwnRouters(view.flatMap(({ launches }) => launches)));
  for (const [index, launches] of together.entries()) {
    const namespaceIn = namespacesIn(launches);
    for (const launch of launches) groups.add(`view ${index}/${namespaceIn(launch)}`, [launch]);
  }
}

/** Adds what overlays build, each with the router that stands beside it where it has workers alone. */
function addOverlays(groups: Groups, { programs }: Overlays, { files, working }: Around): void {
  for (const [number, { file, views, sets, isWhole, isScript }] of programs.entries()) {
    const add = (key: string, launch: Launch): void =>
      groups.add(`overlay ${number}/${key}`, [launch], isScript === true ? undefined : file);
    for (const [index, view] of views.flatMap(withOwnRouters).entries()) {
      const namespaceIn = namespacesIn(view);
      const isHalf = isWhole && hasWorker({ launches: view }) && !hasRouting({ launches: view });
      const router = isHalf ? routerOf(file, files, working) : undefined;
      for (const launch of [...view, ...(router?.launches ?? [])])
        add(
          launch.site?.kind === 'DynamoGraphDeployment'
            ? groups.graphOf(launch.site)
            : // The values of a picker's chart say of no namespace.
              `${index}/${router === undefined ? namespaceIn(launch) : ''}`,
          launch,
        );
    }
    for (const [index, set] of sets.entries()) for (const launch of set) add(`set ${index}`, launch);
  }
}

/** Adds each script by itself, and those that name the addresses of each other together. */
function addScripts(groups: Groups, material: Material, scripts: readonly TextSource[]): void {
  const installed = installedVersions(scripts, material.tree);
  const started = scripts.map((script) => ({
    file: script.file,
    sets: readScriptSets(script, material, installed(script.file) ?? material.platformVersion),
  }));
  for (const [index, { sets }] of started.entries())
    for (const [part, set] of sets.entries()) groups.add(`script ${index}/${part}`, set);
  // Of programs that run one after the other it is not known which of them another script means.
  const whole = started.map(({ file, sets: [set = [], ...more] }) => ({
    file,
    launches: more.length === 0 ? set : [],
  }));
  for (const [index, launches] of joinedScripts(whole).entries()) groups.add(`scripts ${index}`, launches);
}

/** Whether what routes in a file is of a chart's values: a manifest has its own workers beside it. */
function isOfValues({ launches }: FilePrograms): boolean {
  return launches.every(({ site, owner }) => site === undefined && owner?.kind === undefined);
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
