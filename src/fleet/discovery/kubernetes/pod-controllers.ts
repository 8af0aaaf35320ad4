import { integerAt, listAt, textAt, valueAt } from '../../../edge/kubernetes/read-json.js';

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

/** Which pod of a LeaderWorkerSet it is. */
export interface LeaderWorkerClue {
  readonly name: string;
  /** `0` for a leader. */
  readonly index: string | undefined;
}

/** How a kind of controller is asked. */
export interface ControllerKind {
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
export function kindOf(kind: string): ControllerKind {
  return (
    KINDS.get(kind) ?? {
      plural: `${kind.toLowerCase()}s`,
      replicasOf: (object) => integerAt(object, 'spec', 'replicas'),
    }
  );
}

/** The kind behind a pod with the label of a LeaderWorkerSet. */
export const LEADER_WORKER_SET: Omit<OwnerReference, 'name'> = {
  apiVersion: 'leaderworkerset.x-k8s.io/v1',
  kind: 'LeaderWorkerSet',
};

/** The components of a graph that are engines; what `--dynamo-graph` selects by. */
const ENGINE_TYPES: ReadonlySet<string> = new Set(['worker', 'prefill', 'decode']);

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

/** What made an object and will make it again. */
export function controllerOf(object: unknown): OwnerReference | undefined {
  const references = listAt(object, 'metadata', 'ownerReferences');
  const reference = references.find((candidate) => valueAt(candidate, 'controller') === true);
  const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map((field) => textAt(reference, field));
  return apiVersion === undefined || kind === undefined || name === undefined
    ? undefined
    : { apiVersion, kind, name };
}

/** The engines of a graph: `spec.components` (v1beta1) is a list, `spec.services` (v1alpha1) has names. */
export function engineReplicas(graph: unknown): number | undefined {
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
