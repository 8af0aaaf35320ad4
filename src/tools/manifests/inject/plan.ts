import type { GivenFile } from '../lint/config/tree-files.js';
import { readMaterial } from '../lint/facts/material.js';
import { isSelected } from '../lint/readers/inference-pool.js';
import type { OpenPodSite, PodSite } from '../pod-site.js';
import { readObjects, readPodSites } from '../read-pod-sites.js';
import type { SourceFile } from '../source-file.js';
import { isInjectableKind } from './custom-kinds.js';
import { Draft, type FilePlan, type Found, type Note } from './draft.js';
import { Gates, graphKey } from './gates.js';
import type { InjectOptions } from './options.js';
import { isNamed, rolesOf, type SiteRoles, siteName } from './roles.js';
import { Sidecars } from './sidecars.js';

/** What is to be done to a set of manifests. */
export interface Plan {
  planOf(file: SourceFile): FilePlan;
  readonly notes: readonly Note[];
  /** Names of `--is-worker` and `--is-frontend` that nothing in the manifests has. */
  readonly unknownNames: readonly string[];
  /** What there is to name: `Deployment vllm`, `RoleBasedGroup qwen/prefill`. */
  readonly pods: readonly string[];
  /** Objects of custom kinds in which no pod spec is seen. */
  readonly podless: readonly ObjectName[];
}

/** An object as `kubectl` calls it. */
export interface ObjectName {
  readonly kind: string;
  readonly name: string;
}

/** A pod template and the file that it is in. */
interface Placed {
  readonly file: SourceFile;
  readonly site: OpenPodSite;
}

/** Finds the workers and the frontends of manifests, and what each of them is to be given. */
export function planInject(
  files: readonly SourceFile[],
  options: InjectOptions,
  readByPrograms: readonly GivenFile[] = [],
): Plan {
  const library = readMaterial(files, readByPrograms);
  const draft = new Draft();
  const sites: readonly Placed[] = files.flatMap((file) =>
    readPodSites(file).map((site) => ({ file, site })),
  );
  const withLeader = new Set(sites.flatMap(({ site }) => (site.part === 'leader' ? [site.open.node] : [])));
  const graphs = new Set<string>();
  const workers: Found[] = [];
  const frontends: Found[] = [];
  for (const { file, site } of sites) {
    const pool = library.pools.find((one) => isSelected(one, site));
    const roles = rolesOf(file, site, library, options, pool);
    const { worker, frontend } = roles;
    if (worker === undefined && frontend === undefined) continue;
    if (worker !== undefined && site.kind === 'DynamoGraphDeployment') graphs.add(graphKey(site));
    const isFollower =
      site.isFollower ||
      (site.kind === 'LeaderWorkerSet' && site.part === 'worker' && withLeader.has(site.open.node));
    const reason = isFollower
      ? 'the engine of a group answers at its leader'
      : (unknownKind(site, options) ?? reasonToLeave(site, roles, options));
    if (reason !== undefined) {
      draft.note({ file, site }, 'left', `left alone: ${reason}`);
      continue;
    }
    if (worker !== undefined) workers.push({ file, site, role: worker });
    if (frontend !== undefined) frontends.push({ file, site, role: frontend });
  }
  // Workers first: frontends wait for them.
  const sidecars = new Sidecars(options, draft);
  for (const found of workers) sidecars.add(found);
  const gates = new Gates(options, { served: sidecars.served, graphs, sizeless: sidecars.sizeless }, draft);
  if (options.gate !== 'none') for (const found of frontends) gates.add(found);
  gates.finish();
  const known = new Set(sites.flatMap(({ site }) => [site.name, site.part, siteName(site)]));
  return {
    planOf: (file) => draft.planOf(file),
    notes: draft.notes,
    unknownNames: [...options.workerNames, ...options.frontendNames].filter((name) => !known.has(name)),
    pods: listPods(sites),
    podless: findPodless(files, sites),
  };
}

/**
 * Why nothing is added to a pod spec inside a kind that is not known here. Anyone who names
 * its workload says with it that the controller makes pods of all that stands there.
 */
function unknownKind(site: PodSite, { workerNames, frontendNames }: InjectOptions): string | undefined {
  return isInjectableKind(site) || isNamed(site, [...workerNames, ...frontendNames])
    ? undefined
    : `inject does not know what the controller of a ${site.kind} does with the pod spec at ${site.path}; if it makes pods of all of it, say --is-worker or --is-frontend ${siteName(site)}`;
}

/** What there is to name with `--is-worker` and `--is-frontend`: `RoleBasedGroup qwen/prefill`. */
function listPods(sites: readonly Placed[]): readonly string[] {
  return [...new Set(sites.map(({ site }) => `${site.kind} ${siteName(site)}`))];
}

/** API groups of objects that hold no workload. */
const PLUMBING =
  /(?:^|\.)(?:k8s\.io|istio\.io|coreos\.com|cert-manager\.io|fluxcd\.io|openshift\.io|keda\.sh|envoyproxy\.io)$/;

/** Objects of custom kinds that may stand for pods, and show no pod spec. */
function findPodless(files: readonly SourceFile[], sites: readonly Placed[]): readonly ObjectName[] {
  const withPods = new Set(sites.map(({ site }) => site.open.object));
  return files.flatMap((file) =>
    readObjects(file).flatMap(({ access, object }) => {
      const [group = '', version] = access.text(object, 'apiVersion')?.value.split('/') ?? [];
      const kind = access.text(object, 'kind')?.value;
      const name = access.text(access.map(object, 'metadata'), 'name')?.value;
      const isCustom = version !== undefined && group.includes('.') && !PLUMBING.test(group);
      return !isCustom || kind === undefined || name === undefined || withPods.has(object)
        ? []
        : [{ kind, name }];
    }),
  );
}

/** Why a pod template is not changed, whatever its pods do. */
function reasonToLeave(
  site: OpenPodSite,
  { worker, frontend, own }: SiteRoles,
  { gate }: InjectOptions,
): string | undefined {
  if (own !== undefined) return `it has kv-accord already (container ${own.name})`;
  if (site.kind === 'Job' || site.kind === 'Pod')
    return `a ${site.kind} cannot be changed once it runs; add kv-accord to what makes it`;
  if (site.kind !== 'DynamoGraphDeployment' && site.open.spec === undefined)
    return 'its template has no spec';
  if (worker === undefined || frontend === undefined || gate === 'none') return undefined;
  if (worker.container === frontend.container)
    return 'worker and frontend share a container, and a gate in front of both would wait for a worker that it holds back; give each a container of its own';
  return gate === 'wait'
    ? 'worker and frontend share a pod, and an init container would wait for a worker that starts after it; take --gate exec'
    : undefined;
}
