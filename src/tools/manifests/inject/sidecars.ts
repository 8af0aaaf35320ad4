import type { OpenPodSite, PodSite } from '../pod-site.js';
import { YamlAccess } from '../yaml-access.js';
import { GRPC_PORT, sidecarContainer, volumesOf } from './containers.js';
import type { Draft, Found } from './draft.js';
import { type Engine, engineOf } from './engine.js';
import { objectName, selectorOf, workersService } from './objects.js';
import type { InjectOptions } from './options.js';
import { podChanges } from './pod-changes.js';
import { siteName } from './roles.js';

/** Workers that were given a Service, by which frontends find them. */
export interface ServedWorkers {
  readonly namespace: string | undefined;
  /** As `--workers` takes it. */
  readonly target: string;
  /** Undefined where the manifest does not say how many there are. */
  readonly count: number | undefined;
}

/** Adds sidecars to workers. */
export class Sidecars {
  readonly #options: InjectOptions;
  readonly #draft: Draft;
  readonly #served: ServedWorkers[] = [];
  readonly #sizeless: PodSite[] = [];

  constructor(options: InjectOptions, draft: Draft) {
    this.#options = options;
    this.#draft = draft;
  }

  /** Those that `add` gave a Service. */
  get served(): readonly ServedWorkers[] {
    return this.#served;
  }

  /** Those whose sidecar has no block size to report before the engine's first KV event. */
  get sizeless(): readonly PodSite[] {
    return this.#sizeless;
  }

  add(found: Found): void {
    const { site, role } = found;
    const isGraph = site.kind === 'DynamoGraphDeployment';
    if (!isGraph && !this.#serve(found)) return;
    const engine = engineOf(role.launch, isGraph);
    if (isSizeless(engine)) this.#sizeless.push(site);
    const isNative = this.#options.sidecarKind === 'native';
    const changes = podChanges(site, [
      {
        list: isNative ? 'initContainers' : 'containers',
        items: [sidecarContainer(engine, this.#options)],
        at: isNative ? 'first' : 'last',
      },
      { list: 'volumes', items: volumesOf(this.#options, false), at: 'last' },
    ]);
    this.#draft.change(found, changes);
    const where = engine.url === 'auto' ? 'which it looks for on the usual local ports' : `at ${engine.url}`;
    this.#draft.note(found, 'done', `sidecar beside ${engine.program}, ${where}`);
    for (const text of adviceFor(site, engine)) this.#draft.note(found, 'advice', text);
  }

  /** Gives the pods of a worker a Service; false when that cannot be, which is noted. */
  #serve(found: Found): boolean {
    if (this.#options.workers.length > 0) return true;
    const { site } = found;
    const { namespace } = site;
    const name = objectName(site);
    const selector = selectorOf(site);
    const host = namespace === undefined ? `${name}` : `${name}.${namespace}`;
    const target = `dns:///${host}:${GRPC_PORT}`;
    const isTaken = this.#served.some((served) => served.target === target);
    if (name === undefined || selector === undefined || isTaken) {
      const why =
        name === undefined
          ? `no Service can be called ${site.name}-kv-accord`
          : isTaken
            ? 'another worker has the same name, and so would their Services'
            : 'it has no labels by which a Service could find its pods';
      // Who named it waits for its sidecar: a run that leaves it out must not look like one that is done.
      const isAsked = this.#options.workerNames.some((one) => one === site.name || one === siteName(site));
      if (isAsked) this.#draft.refuse(found, `${why}; say with --workers how the gate finds it`);
      else this.#draft.note(found, 'left', `left alone: ${why}; say with --workers how the gate finds them`);
      return false;
    }
    this.#draft.append(found, [workersService(site, name, selector)]);
    this.#served.push({ namespace, target, count: countOf(site) });
    return true;
  }
}

/** The system port of a Dynamo worker does not report its block size. */
function isSizeless({ kind, tokensPerBlock }: Engine): boolean {
  return kind === 'dynamo' && tokensPerBlock === undefined;
}

/** What a person should look at, because the sidecar alone does not do it. */
function adviceFor(site: OpenPodSite, engine: Engine): readonly string[] {
  const access = new YamlAccess(site.open.document);
  const nodes = access.number(access.map(site.open.node, 'multinode'), 'nodeCount') ?? 1;
  const isDynamo = engine.kind === 'dynamo';
  return [
    isSizeless(engine) ? sizelessAdvice(engine) : '',
    isDynamo && engine.url === 'auto'
      ? 'start the worker with DYN_SYSTEM_PORT: without it a Dynamo worker has no port to ask'
      : '',
    nodes > 1
      ? `it runs on ${nodes} nodes, and its engine answers on the first of them: a gate for all pods of the graph waits for the others in vain; say with --workers and --min-workers which it is to wait for`
      : '',
    site.isOnHostNetwork
      ? `it is on the network of its node: the ports of the sidecar (${GRPC_PORT}, 9464) must be free there, so one worker a node`
      : '',
  ].filter((text) => text !== '');
}

function sizelessAdvice({ program, unseenSize }: Engine): string {
  const unreported = 'the system port of a Dynamo worker does not report it';
  return unseenSize === undefined
    ? `the manifest does not say its block size, and ${unreported}: write its flag (--block-size, --page-size, --kv-block-size)`
    : `${program} ${unseenSize.says}, and ${unreported}: ${unseenSize.path === undefined ? '' : 'name the file with --with FILE, or '}write its flag (--block-size, --page-size, --kv-block-size)`;
}

/** How many sidecars a workload will have. */
function countOf(site: OpenPodSite): number | undefined {
  if (site.kind === 'DaemonSet') return undefined;
  if (site.kind !== 'LeaderWorkerSet') return site.replicas ?? 1;
  // One for each group, whichever template its leader has.
  const access = new YamlAccess(site.open.document);
  return access.number(access.map(site.open.node, 'spec'), 'replicas') ?? 1;
}
