import { integerAt, listAt, textAt } from '../../../edge/kubernetes/read-json.js';
import { formatTcp } from '../../../edge/platform/address.js';
import { type ListedPod, readPod } from '../kubernetes/kubernetes-pods.js';
import type { ClusterMembers } from '../kubernetes/kubernetes-source.js';
import { onePerAddress } from '../kubernetes/one-per-address.js';
import type { Endpoint, ServedPort } from '../source.js';
import type { PoolSpec } from './inference-pool.js';

/** What is kept of a pod of a pool. */
export interface PoolPod extends ListedPod {
  /** Which of the pool's ports it serves at, by their place in the pool. */
  readonly served: readonly number[];
  /** Which of them have a sidecar of their own; empty where one sidecar serves the pod. */
  readonly ownSidecars: readonly number[];
}

/** Limits a pod to some of its pool's ports: a comma-separated list, as the Inference Extension's picker reads it. */
const ACTIVE_PORTS = 'inference.networking.k8s.io/active-ports';

/** Ports that a pod declares: more than are in any pod spec that is run. */
const MAX_DECLARED_PORTS = 1_000;

export interface PoolPodOptions extends PoolSpec {
  /** The port of the first sidecar of a pod; others follow it. */
  readonly sidecarPort: number;
}

/** Reads a pod of a pool; undefined for one that has ended, or that takes no requests of the pool. */
export function readPoolPod(
  object: unknown,
  { targetPorts, sidecarPort }: PoolPodOptions,
): PoolPod | undefined {
  const pod = readPod(object);
  if (pod === undefined) return undefined;
  const active = activePorts(object);
  const served = [...targetPorts.keys()].filter(
    (index) => active === undefined || active.has(targetPorts[index] ?? 0),
  );
  if (served.length === 0) return undefined;
  const declared = targetPorts.length === 1 ? new Set<number>() : declaredPorts(object);
  const isEach = served.some((index) => index > 0 && declared.has(sidecarPort + index));
  return { ...pod, served, ownSidecars: isEach ? served : [] };
}

/** The annotation's ports; undefined where there is none. */
function activePorts(object: unknown): ReadonlySet<number> | undefined {
  const text = textAt(object, 'metadata', 'annotations', ACTIVE_PORTS);
  if (text === undefined) return undefined;
  return new Set(text.slice(0, MAX_DECLARED_PORTS).split(',').map(Number));
}

/** The ports that containers declare, those of native sidecars too. */
function declaredPorts(object: unknown): ReadonlySet<number> {
  const containers = [...listAt(object, 'spec', 'containers'), ...listAt(object, 'spec', 'initContainers')];
  const ports = containers.flatMap((container) => listAt(container, 'ports')).slice(0, MAX_DECLARED_PORTS);
  return new Set(ports.flatMap((port) => integerAt(port, 'containerPort') ?? []));
}

export interface PoolMembersOptions extends PoolPodOptions {
  /** What a member is called. */
  readonly nameOf: (pod: string) => string;
  /** `InferencePool inference/llama`, for the message when there are no pods. */
  readonly asked: string;
}

/**
 * The members of a pool: one for each pod, or, where a pod declares a sidecar
 * for each of the pool's ports, one for each port, named as the Inference
 * Extension names endpoints (`POD-rank-N`). Pods without an address are members.
 */
export function membersOfPool(
  pods: readonly PoolPod[],
  { targetPorts, sidecarPort, selector, nameOf, asked }: PoolMembersOptions,
): ClusterMembers {
  const sorted = [...pods].sort((a, b) => (a.name < b.name ? -1 : 1));
  let perPod = 1;
  const endpoints = sorted.flatMap((pod): Endpoint[] => {
    const { name, ip, served, ownSidecars } = pod;
    const at = (index: number): ServedPort[] =>
      ip === undefined ? [] : [{ rank: index, address: formatTcp(ip, targetPorts[index] ?? 0) }];
    perPod = Math.max(perPod, ownSidecars.length);
    if (ownSidecars.length === 0) return [endpointOf(pod, nameOf(name), sidecarPort, served.flatMap(at))];
    return ownSidecars.map((index) =>
      endpointOf(pod, `${nameOf(name)}-rank-${index}`, sidecarPort + index, at(index)),
    );
  });
  return {
    endpoints: onePerAddress(endpoints),
    problems: endpoints.length > 0 ? [] : [`no pods have the labels ${selector} of the ${asked}`],
    pods: sorted.map(({ clue }) => clue),
    ...(perPod === 1 ? {} : { perPod }),
  };
}

function endpointOf(pod: PoolPod, target: string, port: number, serves: readonly ServedPort[]): Endpoint {
  const { uid, ip, draining, unscheduled, pending } = pod;
  return {
    target,
    ...(ip === undefined ? { pending } : { address: formatTcp(ip, port) }),
    ...(serves.length === 0 ? {} : { serves }),
    ...(draining ? { draining } : {}),
    ...(unscheduled ? { unscheduled } : {}),
    ...(uid === undefined ? {} : { identity: uid }),
  };
}
