import type { KnownFault } from '../known-fault.js';

const SHOW_ROUTES =
  'kubectl get httproute ROUTE -o yaml; kubectl get inferencepools.inference.networking.k8s.io,inferencepools.inference.networking.x-k8s.io -A';

/** What gateways write into the status of an HTTPRoute or InferencePool (kubectl get -o yaml, kubectl describe). */
export const GATEWAY_ROUTES: readonly KnownFault[] = [
  {
    id: 'route_pool_not_found',
    cause: 'role_missing',
    needles: ['InferencePool "', 'InferencePool \\"', 'message: backend(', 'message: backendRef '],
    pattern:
      /(?:InferencePool \\{0,3}"|message: backend\(|message: backendRef )(?!\S{0,100}\.svc\.)([\w./-]{1,120})(?:\\{0,3}"|\)|) not found/,
    says: 'the gateway finds no InferencePool $1 for its HTTPRoute',
    why: 'The pool has another name, namespace or API group than backendRefs say (inference.networking.x-k8s.io is v1alpha2, inference.networking.k8s.io is v1), or it was made after the route: kgateway 2.0 does not look again. agentgateway and kgateway read pools with inferenceExtension.enabled=true alone.',
    cure: 'Make group, kind and name of the backendRef in the HTTPRoute those of the InferencePool ($1) in the same namespace; where they are, apply the HTTPRoute again after the pool (agentgateway, kgateway: install with --set inferenceExtension.enabled=true)',
    commands: [SHOW_ROUTES],
    disturbs: 'nothing',
  },
  {
    id: 'route_pools_off_in_istio',
    cause: 'settings_refused',
    needles: ['InferencePool is not enabled. To enable, set ENABLE_GATEWAY_API_INFERENCE'],
    says: 'Istio does not take InferencePools: its support is switched off',
    why: 'istiod reads them with ENABLE_GATEWAY_API_INFERENCE_EXTENSION alone; without it the route has no backend.',
    cure: 'Set ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true on istiod: helm upgrade istiod istio/istiod -n istio-system --reuse-values --set pilot.env.ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true',
    disturbs: 'nothing',
  },
  {
    id: 'route_pool_kind_unknown',
    cause: 'settings_refused',
    needles: ['referencing unsupported backendRef: group '],
    pattern:
      /unsupported backendRef: group \\{0,3}"(inference\.networking\.(?:x-)?k8s\.io)\\{0,3}" kind \\{0,3}"InferencePool/,
    says: 'Istio does not know InferencePools of API group $1',
    why: 'Istio up to 1.26 knows none, 1.27 those of inference.networking.x-k8s.io (v1alpha2), 1.28 and later those of inference.networking.k8s.io (v1).',
    cure: 'Run Istio 1.28 or later with ENABLE_GATEWAY_API_INFERENCE_EXTENSION=true, and use group inference.networking.k8s.io (v1) for the InferencePool and in backendRefs of the HTTPRoute',
    commands: [SHOW_ROUTES],
    disturbs: 'nothing',
  },
  {
    id: 'route_pool_kind_refused',
    cause: 'settings_refused',
    needles: [
      'Group is invalid, only',
      'Kind is invalid, only Service, MCS ServiceImport and Envoy Gateway Backend',
    ],
    says: 'Envoy Gateway refuses the backendRef of the HTTPRoute: it does not know InferencePools',
    why: 'Envoy Gateway alone takes Services and Backends. InferencePools need Envoy AI Gateway, and their kind in the configuration of Envoy Gateway.',
    cure: 'Install Envoy AI Gateway, and add config.envoyGateway.extensionManager.backendResources: [{ group: inference.networking.k8s.io, kind: InferencePool, version: v1 }] to the values of Envoy Gateway; use that group in backendRefs',
    commands: [
      'helm upgrade eg oci://docker.io/envoyproxy/gateway-helm -n envoy-gateway-system --reuse-values -f examples/inference-pool/envoy-gateway-values-addon.yaml    # of envoyproxy/ai-gateway',
      SHOW_ROUTES,
    ],
    disturbs: 'nothing',
  },
  {
    id: 'pool_picker_not_found',
    cause: 'control_plane_unreachable',
    needles: [
      'Referenced ExtensionRef not found ',
      'InferencePool extension service ',
      'ExtensionReference service ',
      'endpointPickerRef Service ',
    ],
    pattern:
      /(?:ExtensionRef not found |InferencePool extension service |ExtensionReference service |endpointPickerRef Service )((?!must )[\w./-]{1,120})/,
    says: 'the InferencePool names the endpoint picker $1, and there is no such Service',
    why: 'endpointPickerRef (extensionRef in v1alpha2) is the name of a Service in the namespace of the pool. Without it requests end with 5xx, whatever failureMode says.',
    cure: 'Install the endpoint picker with a Service $1 in the namespace of the InferencePool, or set endpointPickerRef.name (and port 9002) to the Service that is there',
    commands: [
      "kubectl get svc -n NAMESPACE; kubectl get inferencepool POOL -n NAMESPACE -o jsonpath='{.spec}'",
    ],
    disturbs: 'nothing',
  },
  {
    id: 'pool_picker_port',
    cause: 'settings_refused',
    needles: [
      'endpointPickerRef port is required',
      'endpointPickerRef.port must be specified',
      'must reference a TCP Service port on ',
      'InferencePool service invalid, extensionRef labels not found',
    ],
    says: 'the InferencePool does not name the port of its endpoint picker, or one that its Service does not have',
    why: 'The gateway calls the picker at endpointPickerRef.port, which has to be a TCP port of its Service.',
    cure: 'Set endpointPickerRef: { name: PICKER, port: { number: 9002 }, failureMode: FailClose } of the InferencePool to the port of the Service of the picker',
    commands: ['kubectl get svc PICKER -n NAMESPACE    # its ports'],
    disturbs: 'nothing',
  },
  {
    id: 'route_without_grant',
    cause: 'settings_refused',
    needles: [' (missing a ReferenceGrant?)', 'not permitted by any ReferenceGrant'],
    pattern:
      /(?:backendRef ([\w./-]{1,150}) not accessible to|[bB]ackend ref to \w{1,40} ([\w./-]{1,150}) not permitted)/,
    says: 'the gateway may not send requests to $1$2: it is in another namespace than the HTTPRoute',
    why: 'A backendRef to another namespace needs a ReferenceGrant there. Without one the route answers 500.',
    cure: 'Create a ReferenceGrant in the namespace of $1$2: from HTTPRoute in the namespace of the route, to group inference.networking.k8s.io, kind InferencePool (group "", kind Service for a Service), or put the HTTPRoute beside the pool',
    commands: ['kubectl get referencegrants -A'],
    disturbs: 'nothing',
  },
  {
    id: 'kgateway_pool_without_endpoints',
    cause: 'role_missing',
    needles: ['no endpoints found for InferencePool'],
    pattern: /found for InferencePool ([\w./-]{1,150})/,
    says: 'kgateway finds no pod for the InferencePool $1: requests to it end with 500',
    why: 'The selector of the pool matches no pod that is ready as kgateway translates the route. Pods that come later are not seen until something else changes (2.1 without its own endpoint picker).',
    cure: 'Bring the pods that the selector of the InferencePool matches to ready, then let kgateway translate again: kubectl annotate gateway GATEWAY -n NAMESPACE retranslated=1 --overwrite',
    commands: [
      "kubectl get inferencepool POOL -n NAMESPACE -o jsonpath='{.spec.selector}'; kubectl get pods -n NAMESPACE --show-labels",
    ],
    disturbs: 'nothing',
  },
];
