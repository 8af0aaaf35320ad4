import type { KnownFault } from '../known-fault.js';

/** Helm and kubectl as they install a fleet: kinds that the cluster does not know, objects of another owner. */
export const CHARTS: readonly KnownFault[] = [
  {
    id: 'install_monitoring_kind',
    cause: 'settings_refused',
    needles: ['resource mapping not found for name', 'no matches for kind '],
    pattern:
      /no matches for kind \\{0,3}"((?:Pod|Service)Monitor|PrometheusRule)\\{0,3}" in version \\{0,3}"(monitoring\.[\w./-]{1,60})/,
    says: 'an installation fails: the cluster has no $1 (CRDs of the Prometheus operator)',
    why: 'The chart makes objects for monitoring unless a value says otherwise, and without their CRDs nothing of it is installed.',
    cure: 'Install the Prometheus operator (helm install prometheus prometheus-community/kube-prometheus-stack), or switch monitoring off in the values of the chart (monitoring.podmonitor.enabled=false, prometheus: { enabled: false })',
    commands: ['kubectl get crd | grep monitoring.coreos.com'],
    disturbs: 'nothing',
  },
  {
    id: 'install_kind_unknown',
    cause: 'settings_refused',
    needles: ['resource mapping not found for name'],
    pattern:
      /no matches for kind \\{0,3}"(?!(?:Pod|Service)Monitor|PrometheusRule)(\w{1,60})\\{0,3}" in version \\{0,3}"([\w./-]{1,80})/,
    says: 'an installation fails: the cluster does not know $1 of $2',
    why: 'The CRDs of that group are not installed, or in another version. Nothing of the release is applied then.',
    cure: 'Install what $2 belongs to with its CRDs first (telemetry.istio.io: Istio; gateway.networking.k8s.io: Gateway API; inference.networking: Gateway API Inference Extension; leaderworkerset.x-k8s.io: LWS), or choose values of the chart without it (the gateway that is installed)',
    commands: ['kubectl api-resources | grep -i $1'],
    disturbs: 'nothing',
  },
  {
    id: 'install_owned_by_another',
    cause: 'settings_refused',
    needles: ['exists and cannot be imported into the current release'],
    pattern: /continue with \w{1,10}: (\w{1,60}) \\{0,3}"([\w.-]{1,150})\\{0,3}" in namespace/,
    says: 'Helm does not install a release: $1 $2 is there already, and not of this release',
    why: 'It was made by kubectl apply or by another release. Helm touches only objects that carry its own labels.',
    cure: 'Install without it where a value of the chart leaves it out (crds.enabled=false, --skip-crds), or hand it over: kubectl annotate and label it with meta.helm.sh/release-name, meta.helm.sh/release-namespace and app.kubernetes.io/managed-by=Helm, then install again',
    commands: [
      'kubectl label crd $2 app.kubernetes.io/managed-by=Helm; kubectl annotate crd $2 meta.helm.sh/release-name=RELEASE meta.helm.sh/release-namespace=NAMESPACE',
    ],
    disturbs: 'nothing',
  },
];
