import type { KnownFault } from '../known-fault.js';

/** Helm, kubectl and admission webhooks as they put a fleet into a cluster. */
export const INSTALLS: readonly KnownFault[] = [
  {
    id: 'install_value_missing',
    cause: 'settings_refused',
    needles: ['nil pointer evaluating interface'],
    pattern: /<\.Values\.([\w.]{1,120})>: nil pointer evaluating/,
    says: 'Helm does not render a chart: $1 reads a value under something that is not set',
    why: 'The template takes a field of an object that the values do not have: it is written elsewhere in this version of the chart, or indented as another key.',
    cure: 'Set $1 in the values as this version of the chart has it (helm show values CHART --version VERSION), or install the version that the values were written for',
    commands: ['helm show values CHART --version VERSION | less; helm template CHART -f values.yaml | head'],
    disturbs: 'nothing',
  },
  {
    id: 'install_chart_refuses',
    cause: 'settings_refused',
    needles: ['execution error at ('],
    pattern: /execution error at \(([\w./-]{3,160}):\d{1,6}:\d{1,6}\): (.{5,200})/,
    says: 'a chart refuses its values: $2',
    why: 'The check stands in $1 of the chart, which nothing is installed against.',
    cure: 'Change the values as the chart says: $2',
    disturbs: 'nothing',
  },
  {
    id: 'install_timed_out',
    cause: 'program_ended',
    needles: [
      'FAILED: context deadline exceeded',
      'FAILED: timed out waiting for the condition',
      'FAILED: client rate limiter Wait returned an error: context deadline exceeded',
      'FAILED: pre-install hooks failed',
      'FAILED: post-install: timed out',
    ],
    isSign: true,
    says: 'Helm gave up waiting for the pods of a release (--wait, --atomic: 5 minutes by default)',
    why: 'Pods do not get ready in time: an engine loads its model for longer, or waits for a node, an image or a volume. What was applied is there (with --atomic it was taken back).',
    cure: 'Install with --timeout 60m or without --wait where pods still load; otherwise repair what kubectl describe pod says of those that are not ready',
    commands: [
      'kubectl get pods -n NAMESPACE; kubectl get events -n NAMESPACE --sort-by=.lastTimestamp | tail -20',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'install_annotation_too_long',
    cause: 'settings_refused',
    needles: ['metadata.annotations: Too long: '],
    pattern:
      /(?:CustomResourceDefinition|customresourcedefinition\S{0,60}) \\{0,3}"([\w.-]{1,150})\\{0,3}" is invalid: metadata\.annotations: Too long/,
    says: 'kubectl does not apply the CRD $1: it is too large for client-side apply',
    why: 'kubectl apply keeps the whole object in an annotation, which has 262144 bytes at most; CRDs with pod templates are larger.',
    cure: 'Apply it with kubectl apply --server-side --force-conflicts -f FILE (kubectl create -f FILE for a new one)',
    disturbs: 'nothing',
  },
  {
    id: 'install_field_immutable',
    cause: 'settings_refused',
    needles: [': field is immutable'],
    pattern:
      /([A-Z]\w{2,60}(?:\.\w{1,30})?) \\{0,3}"([\w.-]{1,150})\\{0,3}" is invalid: .{0,600}?((?:spec|metadata)[\w.[\]-]{0,120}): Invalid value: .{0,1500}: field is immutable/,
    says: 'Kubernetes does not change $1 $2: $3 cannot be changed once it exists',
    why: 'Selectors of Deployments, templates of Jobs and claims of StatefulSets stay as they were made. The new version of the manifests or chart has another one.',
    cure: 'Delete the $1 $2 and apply again (kubectl delete $1 $2 -n NAMESPACE), or put $3 back to what the cluster has',
    commands: ['kubectl get $1 $2 -n NAMESPACE -o yaml | grep -A8 selector'],
  },
  {
    id: 'webhook_without_endpoints',
    cause: 'control_plane_unreachable',
    needles: ['failed calling webhook'],
    pattern:
      /failed calling webhook .{1,200}Post \\{0,3}"https:\/\/([\w.-]{1,150}):\d{1,5}\/[^"]{0,120}": (?:no endpoints available for service|dial tcp \S{1,60} connect: connection refused|service \\{0,3}"[\w.-]{1,150}\\{0,3}" not found)/,
    healedBy: ['Successfully assigned '],
    says: 'the API server does not reach the webhook of a controller ($1): objects of its kinds are refused',
    why: 'The controller behind that Service has no ready pod (it starts, ended, or was deleted while its webhook configuration is still there).',
    cure: 'Bring the pods behind $1 to ready and apply again; where that controller is gone, delete its ValidatingWebhookConfiguration and MutatingWebhookConfiguration',
    commands: [
      'kubectl get pods,endpoints -n NAMESPACE; kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'webhook_certificate',
    cause: 'control_plane_unreachable',
    needles: ['failed calling webhook'],
    pattern:
      /failed calling webhook .{1,200}Post \\{0,3}"https:\/\/([\w.-]{1,150}):\d{1,5}\/.{0,300}x509: ([\w ,:'-]{5,120})/,
    says: 'the API server does not trust the webhook of a controller ($1): $2',
    why: 'caBundle of its webhook configuration is not that of the certificate which the controller has now: cert-manager has not injected it, or the certificate was made again.',
    cure: 'See that cert-manager runs and the Certificate of $1 is Ready; then delete its Secret and restart the controller, so that both are made from one authority',
    commands: [
      'kubectl get certificate,certificaterequest -A; kubectl get validatingwebhookconfigurations -o yaml | grep -c caBundle',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'webhook_timed_out',
    cause: 'control_plane_unreachable',
    needles: ['failed calling webhook'],
    pattern:
      /failed calling webhook .{1,200}Post \\{0,3}"https:\/\/([\w.-]{1,150}):(\d{1,5})\/.{0,200}(?:context deadline exceeded|i\/o timeout)/,
    says: 'the API server gets no answer of the webhook of a controller ($1)',
    why: 'The way from the control plane to the pods is closed for that port (private clusters: their firewall lets 443 and 10250 pass alone; a NetworkPolicy), or the controller hangs.',
    cure: 'Open the port of the webhook (targetPort of $1, 9443 or 8443 as a rule) from the control plane to the nodes, and apply again',
    commands: ['kubectl get svc -A | grep webhook; kubectl get networkpolicy -A'],
    disturbs: 'nothing',
  },
  {
    id: 'object_name_too_long',
    cause: 'settings_refused',
    needles: ['must be no more than 63 '],
    pattern:
      /([A-Z]\w{2,60}) \\{0,3}"([\w.-]{1,253})\\{0,3}" is invalid: .{0,200}Invalid value: \\{0,3}"([\w.-]{1,253})\\{0,3}": must be no more than 63 (?:characters|bytes)/,
    says: 'Kubernetes makes no $1 $2: its name with what controllers add has more than 63 characters',
    why: 'Names go into labels ($3), and controllers add group, role, ordinal and hash to them.',
    cure: 'Give the release, InferenceService, LeaderWorkerSet or StormService behind $2 a shorter name (fullnameOverride of a chart; 40 characters leave room, of LeaderWorkerSets 51 at most)',
    disturbs: 'nothing',
  },
  {
    id: 'object_field_required',
    cause: 'settings_refused',
    needles: [': Required value'],
    // One of several, each in a line of its own.
    pattern: /^\s{0,8}\* ((?:spec|metadata)[\w.[\]-]{0,160}): Required value/,
    says: 'Kubernetes refuses an object: $1 has to be set',
    why: 'The version of the kind that the manifest asks for has this field, and no default for it.',
    cure: 'Set $1 in the object (kubectl explain KIND.$1), or write the manifest for the version of the kind that the cluster has',
    commands: ['kubectl explain KIND.$1'],
    disturbs: 'nothing',
  },
];
