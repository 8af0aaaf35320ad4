import type { KubernetesApi } from '../../../edge/kubernetes/api.js';
import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import { openCluster } from '../../../edge/kubernetes/open-cluster.js';
import { DiscoveryError } from '../discovery-error.js';
import type { DiscoveryModules, DiscoveryOptions } from '../discovery-options.js';
import { DynamoKubernetesSource } from '../dynamo-kubernetes.js';
import { InferencePoolSource } from '../inference-pool/inference-pool-source.js';
import { MAX_ENDPOINTS } from '../limits.js';
import type { DiscoverySource } from '../source.js';
import { ExpectedCount } from './expected-count.js';
import { membersOfPods, readPod } from './kubernetes-pods.js';
import { membersOfSlices, readSlice } from './kubernetes-service.js';
import { KubernetesSource } from './kubernetes-source.js';
import type { ClusterTarget } from './parse-cluster-target.js';

/** Most targets of one cluster: each holds up to two watches, and each of them a connection. */
const MAX_TARGETS = 250;

/**
 * Makes the sources that ask one Kubernetes API server, which they share. Its
 * connections end when the last of them has ended. Rejects with a
 * `DiscoveryError` when no server is configured; nothing is asked before a
 * source runs. Slow to load: only imported when there is such a target.
 */
export async function openClusterSources(
  targets: readonly ClusterTarget[],
  options: DiscoveryOptions,
  modules: DiscoveryModules,
): Promise<DiscoverySource[]> {
  if (targets.length > MAX_TARGETS) {
    throw new DiscoveryError(
      'too_many_endpoints',
      `${targets.length} targets are of a cluster, at most ${MAX_TARGETS} are followed; find more workers by one selector`,
    );
  }
  const api = await open(options, modules);
  const namespaces = new Set(targets.map(({ namespace }) => namespace ?? api.namespace));
  // Pods of one name in two namespaces are two members.
  const isQualified = namespaces.size > 1;
  let running = targets.length;
  return targets.map((target) => {
    const source = makeSource(target, { api, isQualified, options, modules });
    return {
      name: source.name,
      isStatic: source.isStatic,
      run: async (...given) => {
        try {
          await source.run(...given);
        } finally {
          running -= 1;
          if (running === 0) await api.close();
        }
      },
    };
  });
}

async function open(
  { kubeconfig, kubeContext }: DiscoveryOptions,
  modules: DiscoveryModules,
): Promise<KubernetesApi> {
  try {
    return await openCluster({ kubeconfig, context: kubeContext }, modules);
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    throw new DiscoveryError('unreachable_cluster', error.message, { cause: error });
  }
}

interface ClusterPart {
  readonly api: KubernetesApi;
  readonly isQualified: boolean;
  readonly options: DiscoveryOptions;
  readonly modules: DiscoveryModules;
}

function makeSource(target: ClusterTarget, part: ClusterPart): DiscoverySource {
  const { api, isQualified, options, modules } = part;
  const namespace = target.namespace ?? api.namespace;
  const nameOf = (pod: string): string => (isQualified ? `${namespace}/${pod}` : pod);
  const root = encodeURIComponent(namespace);
  const its = { ...modules, api };
  const name = target.text;
  const expectedOf = (how: {
    graph?: string | undefined;
    leadersOnly?: boolean;
  }): { expected?: ExpectedCount } =>
    options.countsExpected === true ? { expected: new ExpectedCount({ namespace, ...how }, { api }) } : {};
  switch (target.type) {
    case 'kubernetes-service': {
      const { service, port } = target;
      return new KubernetesSource(
        {
          name,
          collection: {
            path: `/apis/discovery.k8s.io/v1/namespaces/${root}/endpointslices`,
            labelSelector: `kubernetes.io/service-name=${service}`,
            keep: readSlice,
          },
          membersOf: (slices) => membersOfSlices(slices, { port, nameOf, service, namespace }),
          ...expectedOf({}),
        },
        its,
      );
    }
    case 'kubernetes-pods': {
      const { selector, port, graph } = target;
      const asked = `${selector} in the namespace ${namespace}`;
      return new KubernetesSource(
        {
          name,
          collection: {
            path: `/api/v1/namespaces/${root}/pods`,
            labelSelector: selector,
            keep: readPod,
            maxObjects: MAX_ENDPOINTS,
          },
          membersOf: (pods) => membersOfPods(pods, { port, nameOf, asked }),
          ...expectedOf({ graph, leadersOnly: LEADERS.test(selector) }),
        },
        its,
      );
    }
    case 'inference-pool': {
      const { pool, port: sidecarPort, text } = target;
      return new InferencePoolSource({ namespace, pool, sidecarPort, text, nameOf, ...expectedOf({}) }, its);
    }
    case 'dynamo-kubernetes':
      return new DynamoKubernetesSource({ ...target, namespace, nameOf }, its);
  }
}

/** A selector of the leaders of LeaderWorkerSets alone. */
const LEADERS = /leaderworkerset\.sigs\.k8s\.io\/worker-index\s*==?\s*0(?:\s*,|\s*$)/;
