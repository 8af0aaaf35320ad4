import { nameSome } from '../../core/text/lists.js';
import { onOneLine } from '../../core/text/printable.js';
import type { KubernetesApi } from '../../edge/kubernetes/api.js';
import { KubernetesError } from '../../edge/kubernetes/kubernetes-error.js';
import { integerAt, listAt, textAt, valueAt } from '../../edge/kubernetes/read-json.js';
import type { ExpectedWorkers } from './source.js';

/** The controller of an object: what made it and will make it again. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** What is known of the workload behind one member. */
export interface PodClue {
  /** The pod's name; undefined for a member that is no pod. */
  readonly name: string | undefined;
  readonly draining: boolean;
  /** Its controller; undefined where it has none, and where the pod was not looked up yet. */
  readonly owner?: OwnerReference | undefined;
  /** Whether the pod was looked at: without this a missing `owner` means nothing. */
  readonly isKnown: boolean;
  /** The LeaderWorkerSet that it is of, by its label. */
  readonly leaderWorkerSet?: LeaderWorkerClue | undefined;
}

export interface LeaderWorkerClue {
  readonly name: string;
  /** `0` for a leader. */
  readonly index: string | undefined;
}

export interface ExpectedCountOptions {
  readonly namespace: string;
  /** The DynamoGraphDeployment that the pods are of, which states its components' replicas itself. */
  readonly graph?: string | undefined;
  /**
   * Whether the members are known to be the leaders of LeaderWorkerSets alone;
   * false: not before the pods of a whole group would be there; undefined: go by
   * the pods that there are.
   */
  readonly leadersOnly?: boolean | undefined;
}

/** What is expected, and what stood in the way of knowing it better. */
export interface CountOutcome {
  /** Undefined as long as the cluster has not answered once: then it is not known. */
  readonly expected: ExpectedWorkers | undefined;
  readonly problems: readonly string[];
}

/** A workload that states how many pods it is to have. */
interface Workload {
  /** `Deployment worker`. */
  readonly words: string;
  readonly path: string;
  readonly replicasOf: (object: unknown, leadersOnly: boolean) => number | undefined;
}

/** How a kind of controller is asked. */
interface ControllerKind {
  readonly plural: string;
  /** Whether another controller may stand behind it that is the one to ask. */
  readonly hasParent?: boolean;
  readonly replicasOf: (object: unknown, leadersOnly: boolean) => number | undefined;
}

/** Kubernetes' own default for `replicas` and `parallelism`. */
const DEFAULT_REPLICAS = 1;

const bySpecReplicas = (object: unknown): number => integerAt(object, 'spec', 'replicas') ?? DEFAULT_REPLICAS;

/** Kinds that pods may be of. */
const KINDS: ReadonlyMap<string, ControllerKind> = new Map(
  Object.entries<ControllerKind>({
    ReplicaSet: { plural: 'replicasets', hasParent: true, replicasOf: bySpecReplicas },
    Deployment: { plural: 'deployments', replicasOf: bySpecReplicas },
    StatefulSet: { plural: 'statefulsets', hasParent: true, replicasOf: bySpecReplicas },
    // The workers of a group are made by a StatefulSet that belongs to the leader's pod.
    Pod: { plural: 'pods', hasParent: true, replicasOf: () => undefined },
    DaemonSet: {
      plural: 'daemonsets',
      replicasOf: (object) => integerAt(object, 'status', 'desiredNumberScheduled'),
    },
    Job: {
      plural: 'jobs',
      // It has no more pods than are still to succeed.
      replicasOf: (object) =>
        Math.min(
          integerAt(object, 'spec', 'parallelism') ?? DEFAULT_REPLICAS,
          integerAt(object, 'spec', 'completions') ?? Number.POSITIVE_INFINITY,
        ),
    },
    LeaderWorkerSet: {
      plural: 'leaderworkersets',
      replicasOf: (object, leadersOnly) => {
        const size = integerAt(object, 'spec', 'leaderWorkerTemplate', 'size') ?? 1;
        return bySpecReplicas(object) * (leadersOnly ? 1 : size);
      },
    },
  }),
);

/** A kind of another project is asked for `spec.replicas`, as scalable kinds have it; what it means where that is missing only they know. */
function kindOf(kind: string): ControllerKind {
  return (
    KINDS.get(kind) ?? {
      plural: `${kind.toLowerCase()}s`,
      replicasOf: (object) => integerAt(object, 'spec', 'replicas'),
    }
  );
}

const LEADER_WORKER_SET: Omit<OwnerReference, 'name'> = {
  apiVersion: 'leaderworkerset.x-k8s.io/v1',
  kind: 'LeaderWorkerSet',
};

/** Versions of a DynamoGraphDeployment, newest first. */
const GRAPH_VERSIONS = ['v1beta1', 'v1alpha1'];

/** The components of a graph that are engines; what `--dynamo-graph` selects by. */
const ENGINE_TYPES: ReadonlySet<string> = new Set(['worker', 'prefill', 'decode']);

/** Controllers above a pod: the worker of a group has five. */
const MAX_PARENTS = 6;

/** Objects that are asked for in one count; a fleet has a few workloads. */
const MAX_QUESTIONS = 200;

const TOO_MANY = `the pods have more than ${MAX_QUESTIONS} controllers`;

/** Longest name of a workload that a message repeats: a kind and a name of Kubernetes have less. */
const MAX_WORDS_CHARS = 320;

/** Workloads that a message names. */
const MAX_NAMED = 4;

/**
 * How many workers there are to be, by what the workloads behind the listed
 * pods were asked for. What cannot be known (a pod of its own, a controller that
 * may not be read) counts as listed, and the reason is given. While the cluster
 * gives no answer the last number stands: a gate must not open because the API
 * server is away.
 */
export class ExpectedCount {
  readonly #options: ExpectedCountOptions;
  readonly #api: KubernetesApi;
  /** What a controller leads to: it never changes while the controller lives. */
  readonly #parents = new Map<string, OwnerReference | undefined>();
  /** The clue of a pod by what its name begins with: all pods of one controller share that. */
  readonly #pods = new Map<string, PodClue>();
  /** What was expected when the cluster last answered every question. */
  #last: ExpectedWorkers | undefined;

  constructor(options: ExpectedCountOptions, modules: { readonly api: KubernetesApi }) {
    this.#options = options;
    this.#api = modules.api;
  }

  /** Undefined when `signal` aborted meanwhile. */
  async count(pods: readonly PodClue[], signal: AbortSignal): Promise<CountOutcome | undefined> {
    try {
      return await this.#count(pods, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #count(pods: readonly PodClue[], signal: AbortSignal): Promise<CountOutcome> {
    const round = new Round(this.#api, this.#options.namespace, signal);
    const problems = new Set<string>();
    const expected =
      (await this.#countGraph(round, problems)) ?? (await this.#countWorkloads(pods, round, problems));
    if (!round.isUnanswered) this.#last = expected;
    this.#forget(pods, round);
    return { expected: this.#last, problems: [...problems] };
  }

  async #countWorkloads(
    pods: readonly PodClue[],
    round: Round,
    problems: Set<string>,
  ): Promise<ExpectedWorkers> {
    const byWorkload = new Map<string, { readonly workload: Workload; readonly clues: PodClue[] }>();
    let untold = 0;
    const asListed = (clue: PodClue): void => {
      if (!clue.draining) untold += 1;
    };
    for (const listed of pods) {
      const { workload, clue } = (await this.#workloadOf(listed, round, problems)) ?? {};
      if (workload === undefined || clue === undefined) {
        asListed(listed);
        continue;
      }
      const known = byWorkload.get(workload.words);
      if (known === undefined) byWorkload.set(workload.words, { workload, clues: [clue] });
      else known.clues.push(clue);
    }
    let count = 0;
    const named: string[] = [];
    for (const { workload, clues } of byWorkload.values()) {
      const replicas = await this.#replicasOf(workload, clues, round, problems);
      if (replicas === undefined) {
        clues.forEach(asListed);
        continue;
      }
      count += replicas;
      named.push(workload.words);
    }
    return { count: count + untold, origin: originOf(named, untold) };
  }

  /** The replicas of a graph's engines; undefined where there is no graph, or it cannot be read. */
  async #countGraph(round: Round, problems: Set<string>): Promise<ExpectedWorkers | undefined> {
    const { graph } = this.#options;
    if (graph === undefined) return undefined;
    for (const version of GRAPH_VERSIONS) {
      const found = await round.ask(`nvidia.com/${version}`, 'dynamographdeployments', graph);
      if (found instanceof KubernetesError) {
        if (found.code === 'not_found' && version !== GRAPH_VERSIONS.at(-1)) continue;
        problems.add(unanswered(found));
        return undefined;
      }
      const count = engineReplicas(found);
      if (count === undefined) return undefined;
      return { count, origin: `DynamoGraphDeployment ${graph}` };
    }
    return undefined;
  }

  /** The workload behind a member; undefined where there is none that says. */
  async #workloadOf(
    listed: PodClue,
    round: Round,
    problems: Set<string>,
  ): Promise<{ readonly workload: Workload; readonly clue: PodClue } | undefined> {
    const clue = await this.#lookAt(listed, round, problems);
    const { leaderWorkerSet } = clue;
    let owner: OwnerReference | undefined =
      leaderWorkerSet === undefined ? clue.owner : { ...LEADER_WORKER_SET, name: leaderWorkerSet.name };
    for (let depth = 0; owner !== undefined && depth < MAX_PARENTS; depth += 1) {
      const kind = kindOf(owner.kind);
      const parent: OwnerReference | undefined =
        kind.hasParent === true ? await this.#parentOf(owner, kind, round, problems) : undefined;
      if (parent === undefined) {
        const { namespace } = this.#options;
        const path = pathOf(owner.apiVersion, namespace, kind.plural, owner.name);
        return {
          workload: {
            words: onOneLine(`${owner.kind} ${owner.name}`, MAX_WORDS_CHARS),
            path,
            replicasOf: kind.replicasOf,
          },
          clue,
        };
      }
      owner = parent;
    }
    return undefined;
  }

  /** Looks at one pod of each controller, where the listing names no owners (EndpointSlices). */
  async #lookAt(clue: PodClue, round: Round, problems: Set<string>): Promise<PodClue> {
    if (clue.isKnown || clue.name === undefined) return clue;
    const beginning = beginningOf(clue.name);
    const known = this.#pods.get(beginning);
    if (known !== undefined) return { ...known, draining: clue.draining };
    const pod = await round.ask('v1', 'pods', clue.name);
    if (pod instanceof KubernetesError) {
      // One that is gone since is seen to be gone soon.
      if (pod.code !== 'not_found') problems.add(unanswered(pod));
      return clue;
    }
    const found = { ...clueOf(pod), name: clue.name };
    this.#pods.set(beginning, found);
    return { ...found, draining: clue.draining };
  }

  async #parentOf(
    owner: OwnerReference,
    { plural }: ControllerKind,
    round: Round,
    problems: Set<string>,
  ): Promise<OwnerReference | undefined> {
    const key = `${owner.apiVersion} ${owner.kind} ${owner.name}`;
    round.parents.add(key);
    if (this.#parents.has(key)) return this.#parents.get(key);
    const object = await round.ask(owner.apiVersion, plural, owner.name);
    if (object instanceof KubernetesError) {
      if (object.code !== 'not_found') problems.add(unanswered(object));
      return undefined;
    }
    const parent = controllerOf(object);
    this.#parents.set(key, parent);
    return parent;
  }

  async #replicasOf(
    { words, path, replicasOf }: Workload,
    clues: readonly PodClue[],
    round: Round,
    problems: Set<string>,
  ): Promise<number | undefined> {
    const object = await round.get(path);
    if (object instanceof KubernetesError) {
      if (object.code !== 'not_found') problems.add(unanswered(object));
      return undefined;
    }
    const areLeaders = clues.every(({ leaderWorkerSet }) => leaderWorkerSet?.index === '0');
    const { leadersOnly: asked = areLeaders } = this.#options;
    // Once a group is ready its workers are there: where they are not listed, they are not meant.
    const leadersOnly = asked || (areLeaders && (integerAt(object, 'status', 'readyReplicas') ?? 0) > 0);
    const replicas = replicasOf(object, leadersOnly);
    if (replicas === undefined || replicas < 0) {
      problems.add(uncounted(`${words} does not tell how many pods it is to have`));
      return undefined;
    }
    return replicas;
  }

  /** Rolling updates leave a ReplicaSet behind each time: what no listed pod leads to is not remembered for ever. */
  #forget(pods: readonly PodClue[], { parents }: Round): void {
    const beginnings = new Set(pods.map(({ name }) => (name === undefined ? '' : beginningOf(name))));
    for (const beginning of this.#pods.keys()) if (!beginnings.has(beginning)) this.#pods.delete(beginning);
    for (const key of this.#parents.keys()) if (!parents.has(key)) this.#parents.delete(key);
  }
}

/** The questions of one count. */
class Round {
  readonly #api: KubernetesApi;
  readonly #namespace: string;
  readonly #signal: AbortSignal;
  readonly #answers = new Map<string, unknown>();
  /** Controllers whose own controllers mattered. */
  readonly parents = new Set<string>();
  /** Whether the cluster left a question open: a refusal and an absence are answers, a silence is none. */
  isUnanswered = false;

  constructor(api: KubernetesApi, namespace: string, signal: AbortSignal) {
    this.#api = api;
    this.#namespace = namespace;
    this.#signal = signal;
  }

  ask(apiVersion: string, plural: string, name: string): Promise<unknown> {
    return this.get(pathOf(apiVersion, this.#namespace, plural, name));
  }

  /** The object, or why there is none. The same question is asked once. */
  async get(path: string): Promise<unknown> {
    if (this.#answers.has(path)) return this.#answers.get(path);
    if (this.#answers.size >= MAX_QUESTIONS) return new KubernetesError('refused', TOO_MANY);
    let answer: unknown;
    try {
      answer = await this.#api.get({ path, signal: this.#signal });
    } catch (error) {
      if (this.#signal.aborted || !(error instanceof KubernetesError)) throw error;
      answer = error;
      if (isSilence(error)) this.isUnanswered = true;
    }
    this.#answers.set(path, answer);
    return answer;
  }
}

function pathOf(apiVersion: string, namespace: string, plural: string, name: string): string {
  const root = apiVersion.includes('/') ? '/apis' : '/api';
  const parts = ['namespaces', namespace, plural, name].map(encodeURIComponent);
  return `${root}/${apiVersion.split('/').map(encodeURIComponent).join('/')}/${parts.join('/')}`;
}

/** What a pod says of its workload. */
export function clueOf(pod: unknown): PodClue {
  const set = textAt(pod, 'metadata', 'labels', 'leaderworkerset.sigs.k8s.io/name');
  return {
    name: textAt(pod, 'metadata', 'name'),
    draining: textAt(pod, 'metadata', 'deletionTimestamp') !== undefined,
    owner: controllerOf(pod),
    isKnown: true,
    leaderWorkerSet:
      set === undefined
        ? undefined
        : { name: set, index: textAt(pod, 'metadata', 'labels', 'leaderworkerset.sigs.k8s.io/worker-index') },
  };
}

function controllerOf(object: unknown): OwnerReference | undefined {
  const references = listAt(object, 'metadata', 'ownerReferences');
  const reference = references.find((candidate) => valueAt(candidate, 'controller') === true);
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((field) => textAt(reference, field));
  return apiVersion === undefined || kind === undefined || name === undefined
    ? undefined
    : { apiVersion, kind, name };
}

/** `worker-7d9f8b6c5-x2x4x` to `worker-7d9f8b6c5`: controllers add one part to their own name. */
function beginningOf(podName: string): string {
  return podName.replace(/-[^-]*$/, '');
}

/** The engines of a graph: `spec.components` (v1beta1) is a list, `spec.services` (v1alpha1) has names. */
function engineReplicas(graph: unknown): number | undefined {
  const services = valueAt(graph, 'spec', 'services');
  const components = [
    ...listAt(graph, 'spec', 'components'),
    ...(typeof services === 'object' && services !== null ? Object.values(services) : []),
  ];
  const engines = components.filter((component) =>
    ENGINE_TYPES.has(textAt(component, 'type') ?? textAt(component, 'componentType') ?? ''),
  );
  if (engines.length === 0) return undefined;
  return engines.reduce((sum: number, engine) => {
    const replicas = integerAt(engine, 'replicas') ?? DEFAULT_REPLICAS;
    return sum + Math.max(0, replicas) * Math.max(1, integerAt(engine, 'multinode', 'nodeCount') ?? 1);
  }, 0);
}

function originOf(named: readonly string[], untold: number): string {
  if (named.length === 0) return 'as many as are listed';
  return `${nameSome(named, MAX_NAMED)}${untold > 0 ? ', the others as listed' : ''}`;
}

/** Whether an error says nothing of what was asked for. */
function isSilence({ code }: KubernetesError): boolean {
  return code !== 'forbidden' && code !== 'not_found';
}

function unanswered(error: KubernetesError): string {
  if (!isSilence(error) || error.message === TOO_MANY) return uncounted(error.message);
  return `--min-workers auto: ${error.message}. What was expected last still counts.`;
}

function uncounted(why: string): string {
  return `--min-workers auto: ${why.replace(/\.$/, '')}. The workers that are listed are counted in its place.`;
}
