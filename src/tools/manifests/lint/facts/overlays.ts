import { addTo } from '../../../../core/data/group-by.js';
import { closed } from '../../pod-site.js';
import { podSitesOf } from '../../read-pod-sites.js';
import { ConfigMaps } from '../config/config-maps.js';
import { buildOverlay, type Outside, type Overlay } from '../kustomize/build-overlay.js';
import type { BuiltObject } from '../kustomize/built-object.js';
import { JoinedSource } from '../kustomize/joined-source.js';
import type { Refusal } from '../kustomize/refusal.js';
import type { Launch } from '../launches/launch.js';
import { readLaunches } from '../launches/read-launches.js';
import { unchecked } from '../launches/unchecked-launches.js';
import { type PoolSite, readPoolSite } from '../readers/inference-pool.js';
import { readLooseCommands } from '../readers/loose-commands.js';
import { type NetworkSite, readNetworkSite } from '../readers/network-site.js';
import { readOthers } from '../readers/read-others.js';
import { RELEASES } from '../readers/release-values.js';
import { namesProgram } from '../text/text-kinds.js';
import type { Material, PlacedSite } from './material.js';
import { hasRouting, hasWorker } from './views.js';

/** Overlays of one set that are built, and characters of all of them. */
const MAX_OVERLAYS = 2_000;
const MAX_LENGTH = 256 * 1024 * 1024;

/** Words of a kustomization that deploys models. */
const SERVING = /llm|inference|model-?serv|vllm|sglang|dynamo/i;

/** What one overlay starts. */
export interface OverlayPrograms {
  /** Its kustomization. */
  readonly file: string;
  /** Programs that serve together. */
  readonly views: readonly (readonly Launch[])[];
  /** Programs that are a fleet by themselves. */
  readonly sets: readonly (readonly Launch[])[];
  readonly sites: readonly PlacedSite[];
  readonly pools: readonly PoolSite[];
  readonly networks: readonly NetworkSite[];
  /** Why kubectl does not build it. */
  readonly refusals: readonly Refusal[];
  /** Whether all bases are here: in another one there may be a router. */
  readonly isWhole: boolean;
  /** Whether they are what a script applies, and no kustomization builds them. */
  readonly isScript?: boolean;
}

/** What all overlays start, and the files that are looked at with them and no longer by themselves. */
export interface Overlays {
  readonly programs: readonly OverlayPrograms[];
  readonly files: ReadonlySet<string>;
}

/** No overlays: every file is looked at as it is. */
export const NO_OVERLAYS: Overlays = { programs: [], files: new Set() };

/**
 * Builds the kustomizations that no other one builds on. Each is one variant, and never compared with another; what they change is
 * looked at as they change it. Those that name no program that is known here are left out.
 */
export function readOverlays(material: Material): Overlays {
  const { kustomizations, tree } = material;
  const roots = kustomizations
    .roots()
    .filter(
      ({ folder, files, isMissing }) =>
        [...files].some((file) => namesProgram(tree.textAt(file)?.value ?? '')) ||
        // What it builds may be an engine, and cannot be seen.
        (isMissing &&
          SERVING.test(`${folder} ${tree.textAt(kustomizations.fileAt(folder) ?? '')?.value ?? ''}`)),
    )
    .slice(0, MAX_OVERLAYS);
  const users = new Map<string, number>();
  for (const { files } of roots) for (const file of files) users.set(file, (users.get(file) ?? 0) + 1);
  const programs: OverlayPrograms[] = [];
  const files = new Set<string>();
  let length = 0;
  for (const { folder } of roots) {
    const source = new JoinedSource(kustomizations.fileAt(folder) ?? folder, (file) => users.get(file) === 1);
    const overlay = length > MAX_LENGTH ? undefined : buildOverlay(folder, source, { tree, kustomizations });
    length += source.text.length;
    if (overlay === undefined) continue;
    for (const file of [...overlay.resources, ...overlay.applied]) files.add(file);
    const read = programsOf(overlay, material, {
      isChanged: kustomizations.isChangedElsewhere(folder),
    });
    if (read.views.length + read.sets.length + read.pools.length > 0) programs.push(read);
  }
  return { programs, files };
}

/** What is said of a part that is not in these files. */
const OUTSIDE: Readonly<Record<Outside['kind'], string>> = {
  address: 'its base is at an address, which is not fetched: lint what kubectl kustomize makes of it',
  chart: 'it has a chart, which is not rendered here: lint what kubectl kustomize --enable-helm makes of it',
  absent: 'its base is not among these files',
  file: 'a file that it names is not among these files',
};

/** How the objects of one are read. */
interface Reading {
  /** Whether something that is not in these files changes all of them. */
  readonly isChanged?: boolean;
  /** Why a program is compared with nothing that is changed in a way which is not known here. */
  readonly unknown?: string;
  /** Whether an object that is no workload can be read as it stands. */
  readonly isCertain?: (object: BuiltObject) => boolean;
}

/** What the objects of an overlay start, or of a script that applies them. */
export function programsOf(
  { source, objects, outside, refusals }: Pick<Overlay, 'source' | 'objects' | 'outside' | 'refusals'>,
  { kustomizations, tree }: Material,
  { isChanged = false, unknown, isCertain = () => true }: Reading = {},
): OverlayPrograms {
  const configMaps = new ConfigMaps(kustomizations);
  for (const { access, object, isUnknown } of objects) configMaps.add(source, access, object, isUnknown);
  const parts = new Map<string, Launch[]>();
  const sets: (readonly Launch[])[] = [];
  const sites: PlacedSite[] = [];
  const pools: PoolSite[] = [];
  const networks: NetworkSite[] = [];
  const add = (part: string, launches: readonly Launch[]): void => {
    for (const launch of launches) addTo(parts, part, launch);
  };
  for (const one of objects) {
    const { access, object, document, part, isUnknown, branch } = one;
    const inBranch = (launches: readonly Launch[]): readonly Launch[] =>
      branch === undefined ? launches : launches.map((launch) => ({ ...launch, branch }));
    const isKnown = isCertain(one);
    const pool = isKnown ? readPoolSite(source, access, object) : undefined;
    if (pool !== undefined) pools.push(pool);
    const network = isKnown ? readNetworkSite(source, access, object) : undefined;
    // Of a policy that is changed in a way that is not known here it cannot be said whom it selects.
    if (network !== undefined) networks.push(isUnknown ? { ...network, labels: undefined } : network);
    const isOwn = document.contents === object && isKnown;
    const others = isOwn ? readOthers({ source, documents: [document] }, tree) : undefined;
    let isRead = false;
    for (const site of podSitesOf(one).map(closed)) {
      if (others !== undefined && others.sets.length > 0 && RELEASES.includes(site.kind)) continue;
      const launches = readLaunches(source, site, { configMaps, tree });
      isRead ||= launches.length > 0;
      if (launches.length > 0 && isKnown) sites.push({ source, site });
      const isCounted = !isUnknown && !isChanged;
      add(part, inBranch(isCounted ? launches : launches.map((one) => withoutCertainty(one, unknown))));
    }
    if (document.contents !== object) continue;
    if (!isKnown) {
      // It is named at least.
      if (!isRead) sets.push(readLooseCommands({ source, documents: [document] }));
      continue;
    }
    sets.push(...(others?.sets.map(inBranch) ?? []));
    add(part, inBranch(others?.beside ?? []));
  }
  const missing = outside.map(({ kind, span }) =>
    unchecked({ program: 'kustomization', reason: OUTSIDE[kind] }, span),
  );
  if (missing.length > 0) sets.push(missing);
  return {
    file: source.file,
    views: viewsOf([...parts.values()]),
    sets,
    sites,
    pools,
    networks,
    refusals,
    isWhole: outside.every(({ kind }) => kind === 'chart' || kind === 'file'),
  };
}

const CHANGED_ELSEWHERE = 'not all that its kustomization changes is in these files';

/** Its arguments may be any after a change that is not known here. */
export function withoutCertainty(launch: Launch, unknown: string = CHANGED_ELSEWHERE): Launch {
  return { ...launch, role: 'unchecked', unchecked: unknown };
}

/** All parts of an overlay serve together, unless one of them is whole: then each is a deployment of its own. */
function viewsOf(parts: readonly (readonly Launch[])[]): readonly (readonly Launch[])[] {
  if (parts.length === 0) return [];
  return parts.some((launches) => hasWorker({ launches }) && hasRouting({ launches }))
    ? parts
    : [parts.flat()];
}
