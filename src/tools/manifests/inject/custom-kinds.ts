import type { PodSite } from '../pod-site.js';
import type { Written } from './containers.js';

/** What is known of a kind whose controller makes pods of the pod specs inside it. */
interface CustomKind {
  /** The labels that the controller gives to the pods of one template; undefined where they name a replica as well. */
  selector(site: PodSite): Written | undefined;
}

/** A role by its name: `prefill` of `prefill/workerTemplate`. */
function roleOf({ part }: PodSite): string {
  return part?.split('/')[0] ?? '';
}

/**
 * The kinds with a pod spec inside that `inject` takes, with the labels of their
 * controllers as these have them in their sources: RBG 0.5, AIBrix 0.5, kthena,
 * KServe 0.16, KubeRay 1.5, Grove.
 */
const CUSTOM_KINDS: Readonly<Record<string, CustomKind | undefined>> = {
  RoleBasedGroup: {
    selector: (site) =>
      site.apiVersion.endsWith('/v1alpha1')
        ? {
            'rolebasedgroup.workloads.x-k8s.io/name': site.name,
            'rolebasedgroup.workloads.x-k8s.io/role': roleOf(site),
          }
        : {
            'rbg.workloads.x-k8s.io/group-name': site.name,
            'rbg.workloads.x-k8s.io/role-name': roleOf(site),
          },
  },
  StormService: {
    selector: (site) => ({ 'storm-service-name': site.name, 'role-name': roleOf(site) }),
  },
  ModelServing: {
    // The engine of a role answers at its entry pod.
    selector: (site) => ({
      'modelserving.volcano.sh/name': site.name,
      'modelserving.volcano.sh/role': roleOf(site),
      'modelserving.volcano.sh/entry': 'true',
    }),
  },
  InferenceService: {
    selector: (site) => ({
      'serving.kserve.io/inferenceservice': site.name,
      component: site.part ?? 'predictor',
    }),
  },
  LLMInferenceService: {
    selector: (site) => ({
      'app.kubernetes.io/name': site.name,
      'app.kubernetes.io/component':
        site.part === 'prefill' ? 'llminferenceservice-workload-prefill' : 'llminferenceservice-workload',
    }),
  },
  RayService: {
    selector: (site) => ({ 'ray.io/originated-from-cr-name': site.name, 'ray.io/node-type': 'head' }),
  },
  RayCluster: { selector: (site) => ({ 'ray.io/cluster': site.name, 'ray.io/node-type': 'head' }) },
  PodCliqueSet: { selector: ownLabels },
  DynamoComponentDeployment: { selector: ownLabels },
  RoleSet: { selector: ownLabels },
  Rollout: { selector: ownLabels },
  CloneSet: { selector: ownLabels },
  ReplicaSet: { selector: ownLabels },
};

/** Whether `inject` knows how the pods of a template come to be. */
export function isInjectableKind({ kind, isKnownKind }: PodSite): boolean {
  return isKnownKind || Object.hasOwn(CUSTOM_KINDS, kind);
}

/** The labels of the pods of a pod spec inside a custom kind; undefined when none is known that they all have. */
export function customSelector(site: PodSite): Written | undefined {
  const known = Object.hasOwn(CUSTOM_KINDS, site.kind) ? CUSTOM_KINDS[site.kind] : undefined;
  return (known?.selector ?? ownLabels)(site);
}

/** Those of the template, which every controller copies. */
function ownLabels({ labels }: PodSite): Written | undefined {
  return labels.size === 0 ? undefined : Object.fromEntries(labels);
}
