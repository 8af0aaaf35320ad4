import { ConfigMaps } from '../lint/config-maps.js';
import type { PodSite } from '../pod-site.js';
import { readPodSites } from '../read-pod-sites.js';
import type { SourceFile } from '../source-file.js';
import { YamlAccess } from '../yaml-access.js';
import type { Change } from './change.js';
import {
  copyContainer,
  GRPC_PORT,
  gateArguments,
  sidecarContainer,
  volumesOf,
  type Written,
  waitContainer,
} from './containers.js';
import { engineOf } from './engine.js';
import { execChanges } from './exec-changes.js';
import { graphAccess, objectName, selectorOf, workersService } from './objects.js';
import type { InjectOptions } from './options.js';
import { podChanges } from './pod-changes.js';
import { rolesOf, type SiteRole, siteName } from './roles.js';

/** Something to say about a place, whether or not it is changed. */
export interface Note {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** `done`: what is added; `left`: why nothing is; `advice`: what a person should look at. */
  readonly type: 'done' | 'left' | 'advice';
  readonly text: string;
}

/** What is to be done to one file. */
export interface FilePlan {
  readonly changes: readonly Change[];
  /** New documents for its end. */
  readonly documents: readonly Written[];
}

/** What is to be done to a set of manifests. */
export interface Plan {
  readonly files: ReadonlyMap<SourceFile, FilePlan>;
  readonly notes: readonly Note[];
  /** Names of `--worker` and `--frontend` that nothing in the manifests has. */
  readonly unknownNames: readonly string[];
}

/** A pod template with what it was found to be. */
interface Found {
  readonly file: SourceFile;
  readonly site: PodSite;
  readonly role: SiteRole;
}

/** The workers of frontends that are no graph's: those that were just given a Service. */
interface Served {
  readonly namespace: string | undefined;
  readonly target: string;
  /** Undefined where the manifest does not say how many there are. */
  readonly count: number | undefined;
}

/** Finds the workers and the frontends of manifests, and what each of them is to be given. */
export function planInject(files: readonly SourceFile[], options: InjectOptions): Plan {
  return new Planner(files, options).plan();
}

class Planner {
  readonly #files: readonly SourceFile[];
  readonly #options: InjectOptions;
  readonly #configMaps: ConfigMaps;
  readonly #changes = new Map<SourceFile, Change[]>();
  readonly #documents = new Map<SourceFile, Written[]>();
  readonly #notes: Note[] = [];
  readonly #served: Served[] = [];
  /** Graphs by namespace and name, whose frontends may already list pods. */
  readonly #opened = new Set<string>();
  readonly #graphsWithWorkers = new Set<string>();

  constructor(files: readonly SourceFile[], options: InjectOptions) {
    this.#files = files;
    this.#options = options;
    this.#configMaps = new ConfigMaps(files);
  }

  plan(): Plan {
    const workers: Found[] = [];
    const frontends: Found[] = [];
    const sites = this.#files.flatMap((file) => readPodSites(file).map((site) => ({ file, site })));
    for (const { file, site } of sites) {
      const { worker, frontend, own } = rolesOf(file, site, this.#configMaps, this.#options);
      if (worker === undefined && frontend === undefined) continue;
      if (worker !== undefined && site.kind === 'DynamoGraphDeployment')
        this.#graphsWithWorkers.add(graphKey(site));
      const left =
        own === undefined
          ? this.#reasonToLeave(site, sites)
          : `it has kv-accord already (container ${own.name})`;
      if (left !== undefined) {
        this.#note(file, site, 'left', `left alone: ${left}`);
      } else if (worker !== undefined && frontend !== undefined && this.#options.gate === 'wait') {
        this.#note(
          file,
          site,
          'left',
          'left alone: worker and frontend share a pod, and an init container would wait for a worker that starts after it; take --gate exec',
        );
      } else {
        if (worker !== undefined) workers.push({ file, site, role: worker });
        if (frontend !== undefined) frontends.push({ file, site, role: frontend });
      }
    }
    // Workers first: frontends are told to wait for them.
    for (const found of workers) this.#addSidecar(found);
    if (this.#options.gate !== 'none') for (const found of frontends) this.#addGate(found);
    const { workerNames, frontendNames } = this.#options;
    const known = new Set(sites.flatMap(({ site }) => [site.name, site.part, siteName(site)]));
    return {
      files: new Map(
        this.#files.map((file) => [
          file,
          { changes: this.#changes.get(file) ?? [], documents: this.#documents.get(file) ?? [] },
        ]),
      ),
      notes: this.#notes,
      unknownNames: [...workerNames, ...frontendNames].filter((name) => !known.has(name)),
    };
  }

  #reasonToLeave(site: PodSite, sites: readonly { readonly site: PodSite }[]): string | undefined {
    if (site.kind === 'Job' || site.kind === 'Pod')
      return `a ${site.kind} cannot be changed once it runs; add kv-accord to what makes it`;
    const isOfGroup = site.kind === 'LeaderWorkerSet' && site.part === 'worker';
    if (isOfGroup && sites.some((other) => other.site.part === 'leader' && other.site.node === site.node))
      return 'the engine of a group answers at its leader';
    return site.kind !== 'DynamoGraphDeployment' && site.spec === undefined
      ? 'its template has no spec'
      : undefined;
  }

  #addSidecar({ file, site, role }: Found): void {
    const options = this.#options;
    const engine = engineOf(role.launch, site.kind === 'DynamoGraphDeployment', this.#configMaps);
    const container = sidecarContainer(engine, options);
    const isNative = options.sidecarKind === 'native';
    if (site.kind !== 'DynamoGraphDeployment' && !this.#serve(file, site)) return;
    this.#change(
      file,
      podChanges(site, [
        {
          list: isNative ? 'initContainers' : 'containers',
          items: [container],
          at: isNative ? 'first' : 'last',
        },
        { list: 'volumes', items: volumesOf(options, false), at: 'last' },
      ]),
    );
    const where = engine.url === 'auto' ? 'which it looks for on the usual local ports' : `at ${engine.url}`;
    this.#note(file, site, 'done', `sidecar beside ${engine.program}, ${where}`);
    if (engine.kind === 'dynamo' && engine.tokensPerBlock === undefined)
      this.#note(
        file,
        site,
        'advice',
        'the manifest does not say its block size, and the system port of a Dynamo worker does not tell it: write its flag (--block-size, --page-size, --kv-block-size), or a gate waits until KV events have shown it',
      );
    if (engine.kind === 'dynamo' && engine.url === 'auto')
      this.#note(
        file,
        site,
        'advice',
        'start the worker with DYN_SYSTEM_PORT: without it a Dynamo worker has no port to ask',
      );
  }

  /** Gives the pods of a worker a Service by which frontends find them. */
  #serve(file: SourceFile, site: PodSite): boolean {
    if (this.#options.workers.length > 0) return true;
    const name = objectName(site);
    const selector = selectorOf(site);
    if (name === undefined || selector === undefined) {
      const why =
        name === undefined
          ? `no Service can be called ${site.name}-kv-accord`
          : 'it has no labels by which a Service could find its pods';
      this.#note(file, site, 'left', `left alone: ${why}; say with --workers how the gate finds them`);
      return false;
    }
    const { namespace } = site;
    this.#document(file, workersService(site, name, selector));
    const host = namespace === undefined ? name : `${name}.${namespace}`;
    this.#served.push({ namespace, target: `dns:///${host}:${GRPC_PORT}`, count: countOf(site) });
    return true;
  }

  #addGate({ file, site, role }: Found): void {
    const options = this.#options;
    const fleet = this.#fleetOf(file, site);
    if (fleet === undefined) return;
    const isDynamo = role.launch?.isDynamo ?? site.kind === 'DynamoGraphDeployment';
    const shared = [...fleet, ...gateArguments(options.transport)];
    if (options.gate === 'wait') {
      if (role.launch?.role === 'router')
        this.#note(
          file,
          site,
          'advice',
          'dynamo.router goes by DYN_ROUTER_BLOCK_SIZE, which an init container cannot set: take --gate exec',
        );
      // What Dynamo's frontend goes by is what workers declare: `exec` has that as its default.
      const container = waitContainer(
        [...shared, ...(isDynamo ? ['--frontend-uses=declared'] : [])],
        options,
      );
      this.#change(
        file,
        podChanges(site, [
          { list: 'initContainers', items: [container], at: 'last' },
          { list: 'volumes', items: volumesOf(options, false), at: 'last' },
        ]),
      );
    } else {
      const { container } = role;
      const changes =
        container === undefined || site.spec === undefined
          ? 'it names no container to wrap; write its container with its command into the manifest, or take --gate wait'
          : execChanges(site, container, shared, options);
      if (typeof changes === 'string') {
        this.#note(file, site, 'left', `left without a gate: ${changes}`);
        return;
      }
      this.#change(
        file,
        podChanges(site, [
          { list: 'initContainers', items: [copyContainer(options)], at: 'first' },
          { list: 'volumes', items: volumesOf(options, true), at: 'last' },
        ]),
      );
      this.#change(file, changes);
    }
    if (site.kind === 'DynamoGraphDeployment' && options.workers.length === 0) this.#openGraph(file, site);
    this.#note(file, site, 'done', `gate (${options.gate}) for ${fleet.join(' ')}`);
  }

  /** The arguments that say which workers a gate waits for; undefined when nothing does. */
  #fleetOf(file: SourceFile, site: PodSite): readonly string[] | undefined {
    const { workers, minWorkers } = this.#options;
    if (workers.length > 0) {
      const countsItself = workers.every((target) => target.startsWith('k8s://'));
      const count = minWorkers ?? (countsItself ? 'auto' : undefined);
      if (count === undefined)
        this.#note(
          file,
          site,
          'advice',
          'the gate opens as soon as one worker has reported; say with --min-workers how many there are',
        );
      return [
        ...workers.map((target) => `--workers=${target}`),
        ...(count === undefined ? [] : [`--min-workers=${count}`]),
      ];
    }
    if (site.kind === 'DynamoGraphDeployment') {
      if (this.#graphsWithWorkers.has(graphKey(site)))
        return [`--dynamo-graph=${site.name}`, `--min-workers=${minWorkers ?? 'auto'}`];
      this.#note(
        file,
        site,
        'left',
        'left without a gate: its graph has no worker; say with --workers which it is to wait for',
      );
      return undefined;
    }
    const served = this.#served.filter(({ namespace }) => namespace === site.namespace);
    if (served.length === 0) {
      this.#note(
        file,
        site,
        'left',
        'left without a gate: no worker in its namespace is among these files; name their file too, or say with --workers which it is to wait for',
      );
      return undefined;
    }
    const known = served.map(({ count }) => count);
    const sum = known.reduce<number>((total, count) => total + (count ?? 1), 0);
    if (minWorkers === undefined && known.includes(undefined))
      this.#note(
        file,
        site,
        'advice',
        `how many workers there are is not in the manifests: the gate waits for ${sum}; say it with --min-workers`,
      );
    return [
      ...served.map(({ target }) => `--workers=${target}`),
      `--min-workers=${minWorkers ?? Math.max(1, sum)}`,
    ];
  }

  /** The right to list the graph's pods, once for all of its frontends. */
  #openGraph(file: SourceFile, site: PodSite): void {
    const account =
      new YamlAccess(site.document).text(site.spec, 'serviceAccountName')?.value ??
      `${site.name}-k8s-service-discovery`;
    const key = `${graphKey(site)}/${account}`;
    if (this.#opened.has(key)) return;
    const name = objectName(site) ?? 'kv-accord-graph';
    this.#opened.add(key);
    this.#document(file, ...graphAccess(site, name, account, this.#options.namespace));
    if (site.namespace === undefined)
      this.#note(
        file,
        site,
        'advice',
        `the RoleBinding ${name} is for namespace ${this.#options.namespace}, as the manifest names none; say another with --namespace`,
      );
  }

  #change(file: SourceFile, changes: readonly Change[]): void {
    this.#changes.set(file, [...(this.#changes.get(file) ?? []), ...changes]);
  }

  #document(file: SourceFile, ...documents: readonly Written[]): void {
    this.#documents.set(file, [...(this.#documents.get(file) ?? []), ...documents]);
  }

  #note(file: SourceFile, site: PodSite, type: Note['type'], text: string): void {
    const { line } = file.placeOf(site.at.start);
    this.#notes.push({ file: file.file, line, type, text: `${site.kind} ${siteName(site)}: ${text}` });
  }
}

function graphKey({ namespace, name }: PodSite): string {
  return `${namespace ?? ''}/${name}`;
}

/** How many sidecars a workload will have. */
function countOf(site: PodSite): number | undefined {
  if (site.kind === 'DaemonSet') return undefined;
  if (site.kind !== 'LeaderWorkerSet') return site.replicas ?? 1;
  // One for each group, whichever template its leader has.
  const access = new YamlAccess(site.document);
  return access.number(access.map(site.node, 'spec'), 'replicas') ?? 1;
}
