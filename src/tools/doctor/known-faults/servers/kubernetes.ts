import type { KnownFault } from '../known-fault.js';

/** What the API server of Kubernetes answers to controllers, routers and pickers, in client-go, kube-rs and the Python client alike. */
export const KUBERNETES: readonly KnownFault[] = [
  {
    id: 'kubernetes_forbids',
    cause: 'control_plane_unreachable',
    needles: [
      'cannot get resource',
      'cannot list resource',
      'cannot watch resource',
      'cannot create resource',
      'cannot update resource',
      'cannot patch resource',
      'cannot delete resource',
    ],
    // Events are notes for people: a program works on without the right to write them. Monitoring and what else runs in a cluster serves no model.
    pattern:
      /is forbidden: User \\{0,3}"system:serviceaccount:(?![\w:.-]{0,200}(?:prometheus|monitoring|grafana|promtail|fluent|otel|opentelemetry|datadog|cert-manager|argocd|kube-system))([\w-]{1,63}):([\w.-]{1,253})\\{0,3}" cannot (\w{3,20}) resource \\{0,3}"(?!events\\{0,3}")([\w/-]{1,100})\\{0,3}" in API group \\{0,3}"([\w.-]{0,120})\\{0,3}"/,
    follows: [
      'smg_watch_forbidden',
      'production_stack_watch_forbidden',
      'epp_may_not_list',
      'gateway_may_not_watch_pools',
      'dynamo_kubernetes_forbids_discovery',
    ],
    says: 'the service account $2 of the namespace $1 may not $3 $4: the program that runs under it goes on without them',
    why: 'The API server takes the call of that pod only with a Role (one namespace) or ClusterRole (all of them) that has this verb for this resource, bound to its service account. A chart of another version than the program, a pod without serviceAccountName (it runs as "default"), and a Role in another namespace leave it out.',
    cure: "Add the verb $3 for the resource $4 (API group '$5') to the Role or ClusterRole that is bound to $1:$2, in the namespace that the line names (a ClusterRole where it says cluster scope), or run the pod under the service account that has it (serviceAccountName)",
    commands: [
      'kubectl auth can-i $3 $4 --as=system:serviceaccount:$1:$2 -n NAMESPACE    # no',
      'kubectl create clusterrole $2-extra --verb=get,list,watch,$3 --resource=$4; kubectl create clusterrolebinding $2-extra --clusterrole=$2-extra --serviceaccount=$1:$2',
    ],
    disturbs: 'nothing',
  },
];
