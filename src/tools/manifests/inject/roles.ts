import type { Launch } from '../lint/launches/launch.js';
import { readLaunches } from '../lint/launches/read-launches.js';
import type { Library } from '../lint/launches/surroundings.js';
import type { PoolSite } from '../lint/readers/inference-pool.js';
import type { ContainerSite, OpenContainer, OpenPodSite, PodSite } from '../pod-site.js';
import type { SourceFile } from '../source-file.js';
import type { InjectOptions } from './options.js';

/** What a pod is for, with the container and the program that say so; both are undefined where only a name or a type does. */
export interface SiteRole {
  readonly container: OpenContainer | undefined;
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
  site: OpenPodSite,
  library: Library,
  { workerNames, frontendNames }: InjectOptions,
  pool?: PoolSite,
): SiteRoles {
  const all = [...site.initContainers, ...site.containers];
  const launches = readLaunches(file, site, library).filter(({ branch }) => branch === undefined);
  const own = launches.find(({ role }) => role === 'kv-accord')?.container ?? ownContainer(site);
  const main =
    site.containers.find(({ name, list }) => list === 'mainContainer' || name === 'main') ??
    site.containers[0];
  const roleOf = (launch: Launch | undefined): SiteRole => ({
    container: all.find((one) => one === launch?.container) ?? main,
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
  const isSeen =
    running !== undefined || fronting !== undefined || runsOwnPython(main) || hasNoEngine(site.part);
  const type = isSeen ? undefined : site.componentType?.value;
  // A gateway sends requests to the pods of a pool, whatever they run.
  const isPooled = pool !== undefined && fronting === undefined;
  return {
    own,
    worker: running !== undefined || WORKER_TYPES.includes(type) || isPooled ? roleOf(running) : undefined,
    frontend: fronting !== undefined || type === 'frontend' ? roleOf(fronting) : undefined,
  };
}

/** A file of Python that names no engine: a worker without a model, such as Dynamo's `hello_world.py`. */
const OWN_PYTHON = /^\s*(?:exec\s+)?python3?\s+(?:-u\s+)?([\w./-]+\.py)\b/;

/** Whether a component runs a program of its own, of which it is not known whether it has a KV cache. */
function runsOwnPython(container: ContainerSite | undefined): boolean {
  const texts = [...(container?.command ?? []), ...(container?.args ?? [])].map(({ value }) => value);
  const words = /^(?:\/bin\/)?(?:ba)?sh$/.test(texts[0] ?? '') ? texts.slice(2) : texts;
  const file = OWN_PYTHON.exec(words.join(' '))?.[1];
  return file !== undefined && !/vllm|sglang|trtllm|tensorrt|worker|engine|mocker/i.test(words.join(' '));
}

/** Parts of Dynamo's graphs up to 0.3 that are workers to its operator and have no engine: `dynamo serve graphs.agg_router:Processor`. */
function hasNoEngine(part: string | undefined): boolean {
  return /^(?:Processor|(?:Kv)?Router|Planner|PrefillQueue)$/i.test(part ?? '');
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
