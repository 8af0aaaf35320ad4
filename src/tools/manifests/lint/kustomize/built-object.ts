import type { ObjectNode } from '../../read-pod-sites.js';

/** An object as a kustomization builds it, so far. */
export interface BuiltObject extends ObjectNode {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name that its file gives it, and every one that a kustomization has given it since: patches may use each. */
  readonly names: Set<string>;
  readonly namespaces: Set<string>;
  /** Which resource of the outermost kustomization it comes from; its own files are one. */
  readonly part: string;
  /** The branches of a script in which it is applied. */
  readonly branch?: readonly string[];
  /** Whether something changes it that is not known here. */
  isUnknown: boolean;
}

/** Kinds whose lists Kubernetes' own schema says how to merge. */
const KNOWN_KINDS: readonly string[] = [
  ...['apps/Deployment', 'apps/StatefulSet', 'apps/DaemonSet', 'apps/ReplicaSet'],
  ...['batch/Job', 'batch/CronJob', '/Pod', '/PodTemplate', '/ReplicationController'],
];

/** Whether lists of an object are merged item by item. */
export function hasKnownSchema({ apiVersion, kind }: BuiltObject): boolean {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return KNOWN_KINDS.includes(`${group}/${kind}`);
}
