import type { KnownFault } from '../known-fault.js';

/** Which project defines the kinds of each API group that engines, routers and their operators ask for. */
const OWNERS =
  'leaderworkerset.x-k8s.io: LWS; scheduling.x-k8s.io: the scheduler plugins; scheduler.grove.io: Grove; scheduling.volcano.sh: Volcano';

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
  {
    id: 'kubernetes_kind_unknown',
    cause: 'settings_refused',
    needles: [
      'if kind is a CRD, it should be installed before calling Start',
      'failed to get restmapping: no matches for kind',
    ],
    // The kinds of the inference extension have a row of their own, with its releases; Envoy Gateway goes on without its own.
    pattern:
      /no matches for kind \\{0,3}"(?!Inference|(?:Pod|Service)Monitor|PrometheusRule)(\w{1,60})\\{0,3}" in version \\{0,3}"(?!gateway\.envoyproxy\.io)([\w./-]{1,80})/,
    says: 'a controller does not start: the cluster does not know $1 of $2',
    why: 'It watches objects of that kind, and their CRD is not installed, or in another version. After a time without it (two minutes) the program ends and starts again.',
    cure: `Install what $2 belongs to with its CRDs (${OWNERS}), in a version that has $2; then restart the controller`,
    commands: ['kubectl api-resources | grep -i $1; kubectl get crd | grep -i $1'],
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_resource_unknown',
    cause: 'settings_refused',
    needles: ['the server could not find the requested resource ('],
    // A reflector of an optional kind asks again and goes on, and some kinds are left out where they are not there; what a program was to do fails.
    pattern:
      /^(?!.{0,300}(?:reflector|[Ss]kipp|not installed)).{0,2000}could not find the requested resource \((get|list|watch|post|put|patch|delete) ([a-z]{1,60}\.[a-z0-9.-]{3,120})\)/,
    atLeast: 2,
    says: 'a controller cannot do its work: the cluster has no $2',
    why: 'It wants to $1 objects of that kind, and their CRD is not installed. The name behind the first point says whose it is.',
    cure: `Install what brings $2 with its CRDs (${OWNERS}; metrics.k8s.io: metrics-server), or switch off what needs it in the program; then restart the controller`,
    commands: ['kubectl api-resources | grep -i "$2"; kubectl get crd $2'],
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_crd_missing',
    cause: 'settings_refused',
    needles: ['customresourcedefinitions.apiextensions.k8s.io'],
    pattern:
      /customresourcedefinitions\.apiextensions\.k8s\.io \\{0,3}"([a-z0-9-]{1,60}\.[a-z0-9.-]{1,100})\\{0,3}" not found/,
    says: 'a program looks for the CRD $1, and the cluster has none',
    why: 'It was installed without its CRDs, or with those of an older release: manifests and Helm (which never updates CRDs) leave them as they are.',
    cure: 'Apply the CRDs of the release whose image runs (its crds or config/crd folder; kubectl apply --server-side -f), then restart the program',
    commands: ['kubectl get crd $1'],
    disturbs: 'nothing',
  },
  {
    id: 'rbg_no_revision',
    cause: 'settings_refused',
    needles: ['RoleBasedGroup', 'rolebasedgroup_controller'],
    pattern: /\bsts ([a-z0-9-]{1,120}) has no revision\b/,
    says: 'RBG does not find the revisions of the StatefulSet $1, and changes nothing of its group any more',
    why: 'Builds between 0.3.0 and its PR 77 (28 October 2025) look for them under labels that StatefulSets of an earlier RBG do not have.',
    cure: 'Run a release of RBG that was built after that day',
    commands: ['kubectl get controllerrevisions --show-labels | grep $1'],
    disturbs: 'nothing',
  },
  {
    id: 'kubernetes_outside',
    cause: 'control_plane_unreachable',
    needles: ['unable to load in-cluster configuration', 'Service host/port is not set.'],
    // Clients look within the cluster first and go on with a kubeconfig.
    pattern: /^(?!.{0,400}(?:[Ff]all(?:ing|s)? ?back|[Tt]rying|kubeconfig instead))/,
    says: 'A program looks for the API server of Kubernetes and runs outside a cluster, or in a pod that may not know it',
    why: 'Within a pod KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT and the token of its service account are there. A container of docker, a shell, and a pod with automountServiceAccountToken: false have them not.',
    cure: 'Run it in a pod with its service account (automountServiceAccountToken: true), give it KUBECONFIG or --kubeconfig, or choose discovery without Kubernetes (a static list or a file of endpoints)',
    commands: ['env | grep KUBERNETES_SERVICE; ls /var/run/secrets/kubernetes.io/serviceaccount'],
    disturbs: 'frontend',
  },
  {
    id: 'service_link_as_port',
    cause: 'settings_refused',
    needles: ["with base 10: 'tcp://", "VLLM_PORT 'tcp://"],
    pattern: /'(tcp:\/\/[\w.:[\]-]{3,80})'/,
    says: 'a program takes the address of a Service ($1) for a port, and does not start',
    why: 'Kubernetes gives each pod NAME_PORT=tcp://ADDRESS:PORT for each Service of its namespace. A Service with the name vllm makes VLLM_PORT so, which vLLM reads as its own setting; names of other programs do the same.',
    cure: 'Set enableServiceLinks: false in the spec of the pod, or give the Service another name than the program has (vllm-server in place of vllm)',
    commands: ['kubectl get svc -n NAMESPACE; kubectl exec POD -- env | grep _PORT=tcp'],
  },
];
