import type { KnownFault } from '../known-fault.js';

/** Requests that a gateway (agentgateway, Envoy AI Gateway) ends with an error of its own. */
export const GATEWAY_REQUESTS: readonly KnownFault[] = [
  {
    id: 'agentgateway_header_refused',
    cause: 'control_plane_unreachable',
    needles: ['error InvalidHeaderName(InvalidHeaderName)', 'ext_proc failed: invalid HTTP header name'],
    says: 'agentgateway refuses a header in the answer of the endpoint picker: requests end with 500',
    why: 'The picker answers, but with a header name that this agentgateway cannot take (that of kgateway 2.1.0 did this with pickers of 1.0).',
    cure: 'Run kgateway 2.1.2 or later (agentgateway 0.10.3), and an endpoint picker of the release that its guide names',
    disturbs: 'frontend',
  },
  {
    id: 'agentgateway_no_healthy_backends',
    cause: 'role_missing',
    needles: ['no healthy backends'],
    pattern: /\berror\W{1,6}no healthy backends/,
    atLeast: 2,
    says: 'agentgateway has no engine that is ready for its route: requests end with 503',
    why: 'The InferencePool or Service of the route has no ready pod: the selector matches none, or they start, or fail their readiness probe.',
    cure: 'Bring the pods of the InferencePool to ready, and make its selector and targetPorts those of the pods: kubectl get pods -l SELECTOR',
    commands: [
      "kubectl get inferencepool POOL -o jsonpath='{.spec.selector}{.spec.targetPorts}'; kubectl get pods --show-labels",
    ],
  },
  {
    id: 'agentgateway_backend_missing',
    cause: 'settings_refused',
    needles: ['backend does not exist', 'no valid backends'],
    pattern: /\berror\W{1,6}(?:backend does not exist|no valid backends)/,
    says: 'agentgateway has a route whose backend does not exist: requests end with 500',
    why: 'backendRefs of the HTTPRoute name an InferencePool or Service that is not there, in another namespace without a ReferenceGrant, or of another API group; without inferenceExtension.enabled agentgateway knows no InferencePool at all.',
    cure: "Install agentgateway with --set inferenceExtension.enabled=true where the backend is an InferencePool, and correct backendRefs of the HTTPRoute as its status says (kubectl get httproute ROUTE -o jsonpath='{.status.parents[*].conditions}')",
    disturbs: 'nothing',
  },
  {
    id: 'aigw_no_router_processor',
    cause: 'instance_unknown',
    needles: ['no router processor found, request_id='],
    says: "Envoy AI Gateway: a request met two instances of the gateway's ext_proc, of which one does not know it",
    why: 'The filters before and after routing are of one request. Up to 0.1 the ext_proc is a Deployment of its own, and with two replicas a request goes to both; later ones run it beside each Envoy.',
    cure: 'Run Envoy AI Gateway 0.2 or later, or one replica of the ext_proc Deployment',
    disturbs: 'frontend',
  },
  {
    id: 'higress_redis_unknown',
    cause: 'control_plane_unreachable',
    needles: ['error status returned by host: bad argument'],
    pattern: /redis/i,
    says: 'a plugin of Higress (ai-load-balancer, ai-cache, rate limits) has no Redis: the service that it names is not one that the gateway knows',
    why: 'Plugins call Redis as a service of the gateway, by its full name and the port of that service: NAME.static with port 80 for a fixed address, NAME.dns, or NAME.NAMESPACE.svc.cluster.local. An IP address, or the port of Redis with a static service, is a bad argument.',
    cure: 'Create Redis as a service source in Higress, and set service_name (serviceFQDN) of the plugin to its name with its suffix (redis.static) and service_port (servicePort) to 80 for a static source, to 6379 for dns and Kubernetes',
    disturbs: 'frontend',
  },
  {
    id: 'ext_proc_answers_out_of_mode',
    cause: 'control_plane_unreachable',
    needles: [
      'Normal body mutation response is received while body_mode_ is FULL_DUPLEX_STREAMED',
      'streamed_response is received while body_mode_ is not FULL_DUPLEX_STREAMED',
    ],
    says: 'Envoy refuses the answer of an external processor: it is none for the body mode of its ext_proc filter, and requests end with 500',
    why: 'With FULL_DUPLEX_STREAMED Envoy takes streamed bodies alone, and with other modes only whole ones. The lightweight picker of the Gateway API Inference Extension 1.6.0 (lwepp) answers wrongly to it.',
    cure: 'Run lwepp of a release after 1.6.0 (or the picker of llm-d), and set request_body_mode and response_body_mode of the ext_proc filter to what the processor speaks: FULL_DUPLEX_STREAMED for endpoint pickers',
    disturbs: 'frontend',
  },
];
