import { nameSome } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import type { KubernetesApi } from '../../../edge/kubernetes/api.js';
import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import { integerAt } from '../../../edge/kubernetes/read-json.js';
import type { ExpectedWorkers } from '../source.js';
import { CountQuestions, pathOf, unanswered, uncounted } from './cluster-questions.js';
import {
  type ControllerKind,
  clueOf,
  controllerOf,
  engineReplicas,
  kindOf,
  LEADER_WORKER_SET,
  type OwnerReference,
  type PodClue,
} from './pod-controllers.js';

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

/** Versions of a DynamoGraphDeployment, newest first. */
const GRAPH_VERSIONS = ['v1beta1', 'v1alpha1'];

/** Controllers above a pod: the worker of a group has five. */
const MAX_PARENTS = 6;

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
    const questions = new CountQuestions(this.#api, this.#options.namespace, signal);
    const problems = new Set<string>();
    const expected =
      (await this.#countGraph(questions, problems)) ??
      (await this.#countWorkloads(pods, questions, problems));
    if (!questions.isUnanswered) this.#last = expected;
    this.#forget(pods, questions);
    return { expected: this.#last, problems: [...problems] };
  }

  async #countWorkloads(
    pods: readonly PodClue[],
    questions: CountQuestions,
    problems: Set<string>,
  ): Promise<ExpectedWorkers> {
    const byWorkload = new Map<string, { readonly workload: Workload; readonly clues: PodClue[] }>();
    let untold = 0;
    const asListed = (clue: PodClue): void => {
      if (!clue.draining) untold += 1;
    };
    for (const listed of pods) {
      const { workload, clue } = (await this.#workloadOf(listed, questions, problems)) ?? {};
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
      const replicas = await this.#replicasOf(workload, clues, questions, problems);
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
  async #countGraph(questions: CountQuestions, problems: Set<string>): Promise<ExpectedWorkers | undefined> {
    const { graph } = this.#options;
    if (graph === undefined) return undefined;
    for (const version of GRAPH_VERSIONS) {
      const found = await questions.ask(`nvidia.com/${version}`, 'dynamographdeployments', graph);
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
    questions: CountQuestions,
    problems: Set<string>,
  ): Promise<{ readonly workload: Workload; readonly clue: PodClue } | undefined> {
    const clue = await this.#lookAt(listed, questions, problems);
    const { leaderWorkerSet } = clue;
    let owner: OwnerReference | undefined =
      leaderWorkerSet === undefined ? clue.owner : { ...LEADER_WORKER_SET, name: leaderWorkerSet.name };
    for (let depth = 0; owner !== undefined && depth < MAX_PARENTS; depth += 1) {
      const kind = kindOf(owner.kind);
      const parent: OwnerReference | undefined =
        kind.hasParent === true ? await this.#parentOf(owner, kind, questions, problems) : undefined;
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
  async #lookAt(clue: PodClue, questions: CountQuestions, problems: Set<string>): Promise<PodClue> {
    if (clue.isKnown || clue.name === undefined) return clue;
    const beginning = beginningOf(clue.name);
    const known = this.#pods.get(beginning);
    if (known !== undefined) return { ...known, draining: clue.draining };
    const pod = await questions.ask('v1', 'pods', clue.name);
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
    questions: CountQuestions,
    problems: Set<string>,
  ): Promise<OwnerReference | undefined> {
    const key = `${owner.apiVersion} ${owner.kind} ${owner.name}`;
    questions.parents.add(key);
    if (this.#parents.has(key)) return this.#parents.get(key);
    const object = await questions.ask(owner.apiVersion, plural, owner.name);
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
    questions: CountQuestions,
    problems: Set<string>,
  ): Promise<number | undefined> {
    const object = await questions.get(path);
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
  #forget(pods: readonly PodClue[], { parents }: CountQuestions): void {
    const beginnings = new Set(pods.map(({ name }) => (name === undefined ? '' : beginningOf(name))));
    for (const beginning of this.#pods.keys()) if (!beginnings.has(beginning)) this.#pods.delete(beginning);
    for (const key of this.#parents.keys()) if (!parents.has(key)) this.#parents.delete(key);
  }
}

/** `worker-7d9f8b6c5-x2x4x` to `worker-7d9f8b6c5`: controllers add one part to their own name. */
function beginningOf(podName: string): string {
  return podName.replace(/-[^-]*$/, '');
}

function originOf(named: readonly string[], untold: number): string {
  if (named.length === 0) return 'as many as are listed';
  return `${nameSome(named, MAX_NAMED)}${untold > 0 ? ', the others as listed' : ''}`;
}
