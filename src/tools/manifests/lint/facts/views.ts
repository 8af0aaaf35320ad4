import { posix } from 'node:path';
import { folderOf } from '../config/folders.js';
import type { Kustomizations } from '../config/kustomizations.js';
import type { Launch } from '../launches/launch.js';

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
    for (const { folder, hasPatches } of around) if (!hasPatches) put(byFolder, folder, one);
    if (around.length === 0) rest.push(one);
  }
  for (const members of byFolder.values())
    views.push(...(areVariants(members) ? members.map((one) => [one]) : [members]));
  return [...views, ...viewsByFolder(rest)];
}

function viewsByFolder(files: readonly FilePrograms[]): readonly (readonly FilePrograms[])[] {
  const views: (readonly FilePrograms[])[] = [];
  let open = files.filter((one) => {
    const isWhole = hasWorker(one) && hasRouting(one);
    if (isWhole) views.push([one]);
    return !isWhole;
  });
  for (let climb = 0; climb <= MAX_CLIMB && open.length > 0; climb += 1) {
    const byFolder = new Map<string, FilePrograms[]>();
    for (const one of open) put(byFolder, above(folderOf(one.file), climb), one);
    open = [];
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
function isRouter({ role, program }: Launch): boolean {
  return role === 'unchecked' ? /(?:picker|router|gateway)$/i.test(program) : role !== 'worker';
}

/** Folders above a kustomization in which the router of its workers is looked for: `GUIDE/modelserver/gpu/vllm/base`. */
const MAX_OVERLAY_CLIMB = 4;

/**
 * What routes to the workers of an overlay that has no router of its own: the file of the nearest folder above it, or of at
 * most two below that, which only routes. Undefined where there is none, and where there are several.
 */
export function routerOf(overlay: string, files: readonly FilePrograms[]): FilePrograms | undefined {
  const routing = files.filter((one) => one.launches.some(isRouter) && !hasWorker(one));
  let folder = folderOf(overlay);
  for (let climb = 0; climb <= MAX_OVERLAY_CLIMB && folder !== posix.dirname(folder); climb += 1) {
    const near = routing.filter(({ file }) =>
      Array.from({ length: MAX_CLIMB + 1 }, (_, step) =>
        above(folderOf(posix.normalize(file)), step),
      ).includes(folder),
    );
    if (near.length > 0) return near.length === 1 ? near[0] : undefined;
    folder = posix.dirname(folder);
  }
  return undefined;
}

function above(folder: string, count: number): string {
  let current = folder;
  for (let step = 0; step < count; step += 1) current = posix.dirname(current);
  return current;
}

function put(groups: Map<string, FilePrograms[]>, key: string, one: FilePrograms): void {
  const group = groups.get(key) ?? [];
  group.push(one);
  groups.set(key, group);
}

/** Whether some of the programs have KV caches. */
export function hasWorker({ launches }: Pick<FilePrograms, 'launches'>): boolean {
  return launches.some(({ role }) => role === 'worker');
}

/** Whether some of them route to others. */
export function hasRouting({ launches }: Pick<FilePrograms, 'launches'>): boolean {
  return launches.some(({ role }) => role !== 'worker' && role !== 'unchecked');
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
