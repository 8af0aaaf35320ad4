import { isMap, isSeq, type Node, type YAMLMap } from 'yaml';
import type { YamlAccess } from './yaml-access.js';

/** Deepest that a pod spec is looked for; a replicated job of jobs has it at ten. */
const MAX_DEPTH = 24;

/** Nodes of one object that are looked at: those of a large custom resource are some ten thousand. */
const MAX_NODES = 100_000;

/** Lists of a pod spec in which no other one can be. */
const POD_LISTS: readonly string[] = ['containers', 'initContainers', 'ephemeralContainers', 'volumes'];

/** What a container has at least one of. */
const CONTAINER_KEYS: readonly string[] = ['image', 'command', 'args', 'env', 'resources', 'ports'];

/** Keys that only lead to a pod spec and say nothing about it. */
const SILENT_KEYS: readonly string[] = [
  ...['spec', 'template', 'podTemplate', 'podSpec', 'extraPodSpec', 'entryTemplate', 'leaderTemplate'],
  ...['standalonePattern', 'leaderWorkerPattern', 'rayClusterConfig', 'headGroupSpec', 'jobTemplate'],
];

/** Keys under which the pods stand that follow the pods of another template of the same part. */
const FOLLOWER_KEYS: readonly string[] = [
  'worker',
  'workerSpec',
  'workerTemplate',
  'workerGroupSpecs',
  'workerPodTemplate',
];

/** A pod spec inside an object whose kind says nothing about where one is. */
export interface FoundPodSpec {
  readonly spec: YAMLMap;
  /** `metadata` beside the spec. */
  readonly metadata: YAMLMap | undefined;
  /** What distinguishes it from the others of the object: `prefill`, `worker`, `router/scheduler`; undefined for the only one. */
  readonly part: string | undefined;
  /** From the object down: `spec.roles[prefill].template.spec`. */
  readonly path: string;
  /** Of the nearest mapping around that says how many. */
  readonly replicas: number | undefined;
  readonly isFollower: boolean;
  /** The name of the nearest list item around that has one. */
  readonly named: YAMLMap | undefined;
}

/** What is around a node on the way down. */
interface Way {
  readonly path: string;
  readonly parts: readonly string[];
  readonly replicas: number | undefined;
  readonly isFollower: boolean;
  readonly named: YAMLMap | undefined;
}

/**
 * The pod specs in a mapping: whatever has a list of containers, in the order
 * of the file. `key` is the one under which the mapping stands.
 */
export function findPodSpecs(access: YamlAccess, root: YAMLMap, key: string): readonly FoundPodSpec[] {
  const found: FoundPodSpec[] = [];
  let nodes = 0;
  const visit = (node: Node, parent: YAMLMap | undefined, way: Way, depth: number): void => {
    nodes += 1;
    if (depth > MAX_DEPTH || nodes > MAX_NODES) return;
    if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) {
        const inner = access.resolve(item);
        if (!isMap(inner)) continue;
        const name = (access.text(inner, 'name') ?? access.text(inner, 'groupName'))?.value;
        const label = name ?? String(index);
        // The name says more than the key of the list that it is in.
        const parts = [...way.parts.slice(0, -1), label];
        const named = access.text(inner, 'name') === undefined ? way.named : inner;
        visit(inner, undefined, { ...way, path: `${way.path}[${label}]`, parts, named }, depth + 1);
      }
      return;
    }
    if (!isMap(node)) return;
    const replicas = access.number(node, 'replicas') ?? way.replicas;
    const isPod = isPodSpec(access, node);
    if (isPod) {
      const { path, parts, isFollower, named } = way;
      const part = parts.length === 0 ? undefined : parts.join('/');
      const metadata = path.endsWith('.spec') ? access.map(parent, 'metadata') : undefined;
      found.push({ spec: node, metadata, part, path, replicas, isFollower, named });
    }
    const entries = access.entries(node);
    for (const [name, value] of entries) {
      if (isPod && POD_LISTS.includes(name)) continue;
      visit(
        value,
        node,
        {
          path: `${way.path}.${name}`,
          parts: SILENT_KEYS.includes(name) ? way.parts : [...way.parts, name],
          replicas,
          isFollower: way.isFollower || (FOLLOWER_KEYS.includes(name) && hasLeader(entries, isPod)),
          named: way.named,
        },
        depth + 1,
      );
    }
  };
  const way: Way = { path: key, parts: [], replicas: undefined, isFollower: false, named: undefined };
  visit(root, undefined, way, 0);
  return found;
}

/** Whether a mapping is one that a controller makes pods of. */
function isPodSpec(access: YamlAccess, map: YAMLMap): boolean {
  const containers = access.maps(map, 'containers');
  return (
    containers.some((one) => CONTAINER_KEYS.some((key) => access.get(one, key) !== undefined)) ||
    access.map(map, 'mainContainer') !== undefined ||
    access.map(map, 'model', 'modelFormat') !== undefined
  );
}

/** Whether what stands beside a template of followers is the one that leads them. */
function hasLeader(entries: ReadonlyMap<string, Node>, isPod: boolean): boolean {
  return (
    isPod ||
    ['template', 'entryTemplate', 'leaderTemplate', 'headGroupSpec', 'leaderPodTemplate'].some((key) =>
      entries.has(key),
    )
  );
}
