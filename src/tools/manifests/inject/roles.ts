import type { Launch } from '../lint/launches/launch.js';
import { readLaunches } from '../lint/launches/read-launches.js';
import type { Library } from '../lint/launches/surroundings.js';
import type { PoolSite } from '../lint/readers/inference-pool.js';
import type { ContainerSite, PodSite } from '../pod-site.js';
import type { SourceFile } from '../source-file.js';
import type { InjectOptions } from './options.js';

/** What a pod is for, with the container and the program that say so; both are undefined where only a name or a type does. */
export interface SiteRole {
  readonly container: ContainerSite | undefined;
  readonly launch: Launch | undefined;
}

/** What the pods of one template are. */
export interface SiteRoles {
  readonly worker: SiteRole | undefined;
  readonly frontend: SiteRole | undefined;
  /** A container of kv-accord that is there already. */
  readonly own: ContainerSite | undefined;
}

const WORKER_TYPES: readonly (string | undefined)[] = ['worker', 'prefill', 'decode'];

/** What a pod template's pods do: as the operator says, else by what they run, else by the type of the component or by the pool that selects them. */
export function rolesOf(
  file: SourceFile,
  site: PodSite,
  library: Library,
  { workerNames, frontendNames }: InjectOptions,
  pool?: PoolSite,
): SiteRoles {
  const launches = readLaunches(file, site, library).filter(({ branch }) => branch === undefined);
  const own = launches.find(({ role }) => role === 'kv-accord')?.container ?? ownContainer(site);
  const main =
    site.containers.find(({ name, list }) => list === 'mainContainer' || name === 'main') ??
    site.containers[0];
  const roleOf = (launch: Launch | undefined): SiteRole => ({
    container: launch?.container ?? main,
    launch,
  });
  const running = launches.find(({ role }) => role === 'worker');
  const fronting = launches.find(({ role }) => role === 'frontend' || role === 'router');
  const isSaidWorker = isNamed(site, workerNames);
  const isSaidFrontend = isNamed(site, frontendNames);
  if (isSaidWorker || isSaidFrontend) {
    return {
      own,
      worker: isSaidWorker ? roleOf(running) : undefined,
      frontend: isSaidFrontend ? roleOf(fronting) : undefined,
    };
  }
  const type = running === undefined && fronting === undefined ? site.componentType?.value : undefined;
  // A gateway sends requests to the pods of a pool, whatever they run.
  const isPooled = pool !== undefined && fronting === undefined;
  return {
    own,
    worker: running !== undefined || WORKER_TYPES.includes(type) || isPooled ? roleOf(running) : undefined,
    frontend: fronting !== undefined || type === 'frontend' ? roleOf(fronting) : undefined,
  };
}

/** How a site is called in messages and on the command line. */
export function siteName({ name, part }: PodSite): string {
  return part === undefined ? name : `${name}/${part}`;
}

/** Whether `--is-worker` or `--is-frontend` means a site. */
export function isNamed(site: PodSite, names: readonly string[]): boolean {
  return names.some((name) => name === site.name || name === site.part || name === siteName(site));
}

function ownContainer({ containers, initContainers }: PodSite): ContainerSite | undefined {
  return [...initContainers, ...containers].find(
    ({ name, image }) => /^kv-accord\b/.test(name) || /(?:^|\/)kv-accord(?:[:@]|$)/.test(image?.value ?? ''),
  );
}
