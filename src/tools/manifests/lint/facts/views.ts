import { posix } from 'node:path';
import { addTo } from '../../../../core/data/group-by.js';
import { folderOf } from '../config/folders.js';
import type { Kustomizations } from '../config/kustomizations.js';
import type { Launch } from '../launches/launch.js';
import { isOwnGate } from '../launches/own-gates.js';

/** The programs of one file that are in no graph. */
export interface FilePrograms {
  readonly file: string;
  readonly launches: readonly Launch[];
}

/** Folders above a file in which the other half of its deployment is looked for. */
const MAX_CLIMB = 2;

/**
 * Which files are one deployment, as far as workloads outside of graphs are
 * concerned. A repository has many deployments, and their workloads have the same names
 * and namespaces; programs of two of them never meet. Together are the files of one kustomization that
 * changes nothing, and else the files of the nearest folder that has workers and what routes to
 * them, each in files of its own. A file that has both is a deployment by itself, and so is every file where two
 * have objects of the same name: those are variants.
 */
export function readViews(
  files: readonly FilePrograms[],
  kustomizations: Kustomizations,
  overlays: readonly string[] = [],
): readonly (readonly FilePrograms[])[] {
  const views: (readonly FilePrograms[])[] = [];
  const rest: FilePrograms[] = [];
  const byFolder = new Map<string, FilePrograms[]>();
  for (const one of files) {
    if (kustomizations.isPatch(one.file)) {
      views.push([one]);
      continue;
    }
    const around = kustomizations.around(one.file).filter(({ isDirect }) => isDirect);
    // What a patch changes is not what is written here: such a file is looked at by itself.
    if (around.some(({ hasPatches }) => hasPatches)) views.push([one]);
    for (const { folder, hasPatches } of around) if (!hasPatches) addTo(byFolder, folder, one);
    if (around.length === 0) rest.push(one);
  }
  for (const members of byFolder.values())
    views.push(...(areVariants(members) ? members.map((one) => [one]) : [members]));
  return [...views, ...viewsByFolder(rest, overlays)];
}

function viewsByFolder(
  files: readonly FilePrograms[],
  overlays: readonly string[],
): readonly (readonly FilePrograms[])[] {
  const views: (readonly FilePrograms[])[] = [];
  let open = files.filter((one) => {
    const isWhole = hasWorker(one) && hasRouting(one);
    if (isWhole) views.push([one]);
    return !isWhole;
  });
  for (let climb = 0; climb <= MAX_CLIMB && open.length > 0; climb += 1) {
    const byFolder = new Map<string, FilePrograms[]>();
    const apart: FilePrograms[] = [];
    for (const one of open) {
      const folder = above(folderOf(one.file), climb);
      // What routes to the workers of an overlay routes to no others.
      if (hasRouting(one) && isOwned(one.file, folder, overlays)) apart.push(one);
      else addTo(byFolder, folder, one);
    }
    open = apart;
    for (const members of byFolder.values()) {
      if (!members.some(hasWorker) || !members.some(hasRouting) || areSeveral(members)) open.push(...members);
      else if (areVariants(members)) views.push(...members.map((one) => [one]));
      else views.push(members);
    }
  }
  return [...views, ...open.map((one) => [one])];
}

/** Whether files of different folders route with the same program: then they are several deployments, and whose workers are meant is not known. */
function areSeveral(files: readonly FilePrograms[]): boolean {
  const folders = new Map<string, string>();
  return files.some(({ file, launches }) =>
    launches.some((launch) => {
      if (!isRouter(launch)) return false;
      const { program } = launch;
      const known = folders.get(program) ?? folderOf(file);
      folders.set(program, known);
      return known !== folderOf(file);
    }),
  );
}

/** Whether a program routes, also one with which nothing is compared. */
function isRouter(launch: Launch): boolean {
  const { role, program, isGuessing } = launch;
  return role === 'unchecked'
    ? isGuessing === true || /(?:picker|router|gateway)$/i.test(program)
    : role === 'kv-accord'
      ? isOwnGate(launch)
      : role !== 'worker';
}

/** Folders above a kustomization in which the router of its workers is looked for: `GUIDE/modelserver/gpu/vllm/base`. */
const MAX_OVERLAY_CLIMB = 4;

/** Folders above the values of a chart in which those of the picker's chart are looked for: `GUIDE/ms-x`, `GUIDE/gaie-x`. */
const MAX_VALUES_CLIMB = 1;

/**
 * What routes to the workers of an overlay that has no router of its own: the file of the nearest folder above it, or of at
 * most two below that, which only routes. Undefined where there is none, where it has workers of its own (`overlays` are the
 * kustomizations that have some), and where it cannot be said which of several is meant.
 */
export function routerOf(
  overlay: string,
  files: readonly FilePrograms[],
  overlays: readonly string[],
): FilePrograms | undefined {
  return nearestRouter(overlay, files, overlays, MAX_OVERLAY_CLIMB, true);
}

/** The same for workers of a chart's values: not one that values of another folder (`halves`) are more like, as `ms-b` is of `gaie-b`. */
export function routerOfValues(
  file: string,
  files: readonly FilePrograms[],
  overlays: readonly string[],
  halves: readonly string[] = [],
): FilePrograms | undefined {
  const router = nearestRouter(file, files, overlays, MAX_VALUES_CLIMB, false);
  if (router === undefined) return undefined;
  const own = wordsOf(router.file);
  const common = (other: string): number => [...wordsOf(other)].filter((word) => own.has(word)).length;
  const isMeantForOther = halves.some(
    (other) =>
      folderOf(other) !== folderOf(file) &&
      folderOf(folderOf(other)) === folderOf(folderOf(file)) &&
      common(other) > common(file),
  );
  return isMeantForOther ? undefined : router;
}

function nearestRouter(
  place: string,
  files: readonly FilePrograms[],
  overlays: readonly string[],
  maxClimb: number,
  isOneFolder: boolean,
): FilePrograms | undefined {
  const routing = files.filter((one) => one.launches.some(isRouter) && !hasWorker(one));
  const working = [...overlays, ...files.filter(hasWorker).map(({ file }) => file)];
  let folder = folderOf(posix.normalize(place));
  for (let climb = 0; climb <= maxClimb; climb += 1) {
    const near = routing.filter(({ file }) =>
      Array.from({ length: MAX_CLIMB + 1 }, (_, step) =>
        above(folderOf(posix.normalize(file)), step),
      ).includes(folder),
    );
    if (near.length > 0) {
      const free = near.filter(({ file }) => !isOwned(file, folder, working));
      const children = new Set(free.map(({ file }) => childOf(file, folder)));
      return isOneFolder && children.size > 1 ? undefined : bestNamed(place, folder, free);
    }
    const next = posix.dirname(folder);
    if (next === folder) break;
    folder = next;
  }
  return undefined;
}

/** Whether the folder below `folder` that has a file has workers, too: then it routes to those. */
function isOwned(file: string, folder: string, working: readonly string[]): boolean {
  const child = childOf(file, folder);
  return child !== undefined && working.some((one) => childOf(one, folder) === child);
}

/** The first folder on the way from a folder to a file below it; undefined for a file that stands in it, or elsewhere. */
function childOf(file: string, folder: string): string | undefined {
  const way = posix.relative(folder, posix.normalize(file)).split('/');
  return way.length < 2 || way[0] === '..' ? undefined : way[0];
}

/** The file whose path has the most words in common with another one's, and of those the one with the fewest other words. */
function bestNamed(place: string, folder: string, files: readonly FilePrograms[]): FilePrograms | undefined {
  const own = wordsOf(posix.relative(folder, posix.normalize(place)));
  const around = wordsOf(folder);
  const rated = files.map((one) => {
    const words = [...wordsOf(posix.relative(folder, posix.normalize(one.file)))];
    const common = words.filter((word) => own.has(word)).length;
    const others = words.filter((word) => !own.has(word) && !around.has(word)).length;
    return { one, common, others };
  });
  const [first, second] = rated.sort((a, b) => b.common - a.common || a.others - b.others);
  const isTie = second !== undefined && second.common === first?.common && second.others === first.others;
  return isTie ? undefined : first?.one;
}

function wordsOf(path: string): Set<string> {
  return new Set(path.toLowerCase().split(/[^a-z0-9]+/));
}

function above(folder: string, count: number): string {
  let current = folder;
  for (let step = 0; step < count; step += 1) current = posix.dirname(current);
  return current;
}

/** Whether some of the programs have KV caches. */
export function hasWorker({ launches }: Pick<FilePrograms, 'launches'>): boolean {
  return launches.some(({ role }) => role === 'worker');
}

/** Whether some of them route to others, a picker that guesses among them. */
export function hasRouting({ launches }: Pick<FilePrograms, 'launches'>): boolean {
  return launches.some((launch) => {
    const { role, isGuessing } = launch;
    if (role === 'kv-accord') return isOwnGate(launch);
    return role !== 'worker' && (role !== 'unchecked' || isGuessing === true);
  });
}

/** Whether two files have an object of the same kind and name. */
function areVariants(files: readonly FilePrograms[]): boolean {
  const owners = new Map<string, string>();
  return files.some(({ file, launches }) =>
    launches.some(({ site }) => {
      if (site === undefined || site.name === '') return false;
      const key = `${site.kind}/${site.namespace ?? ''}/${site.name}`;
      const owner = owners.get(key) ?? file;
      owners.set(key, owner);
      return owner !== file;
    }),
  );
}
