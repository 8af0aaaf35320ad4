import type { KnownFault } from '../known-fault.js';

const STATUS =
  "kubectl get httproute ROUTE -o jsonpath='{.status.parents[*].conditions}'; kubectl get endpointslices -n NAMESPACE; kubectl get pods -l SELECTOR";

/**
 * Requests that Envoy (of Istio, Envoy Gateway, kgateway, AIBrix, semantic-router) ends itself: its access log has the reason
 * as flags and details, the answer to the client as a sentence. Single ones come with pods that go; they are signs.
 */
export const ENVOY: readonly KnownFault[] = [
  {
    id: 'envoy_no_healthy_upstream',
    cause: 'role_missing',
    // The flag of its access log, and what clients and processors get as a body.
    needles: ['no_healthy_upstream', 'no healthy upstream'],
    pattern: /^(?!.{0,2000}ext_proc)/,
    isSign: true,
    says: 'the gateway has no engine that is ready behind a route: requests end with 503 (no healthy upstream)',
    why: 'The InferencePool or Service of the route has no ready pod (its selector matches none, they start or fail their readiness probe), or the endpoint picker named an address that is not one of its endpoints.',
    cure: 'Bring the pods behind backendRefs of the route to ready, and make selector and targetPorts of the InferencePool (of the Service) those of the pods',
    commands: [STATUS],
  },
  {
    id: 'envoy_engine_not_reached',
    cause: 'role_missing',
    needles: ['upstream_reset_before_response_started', 'disconnect/reset before headers'],
    pattern:
      /^(?!.{0,2000}(?:ext_proc|unmarshal response|gRPC error|gRPC config)).{0,2000}(?:started\{|reset reason: )(?:remote|local)?[ _]?connection[ _](?:failure|timeout)/,
    isSign: true,
    says: 'the gateway does not reach the engine that a request was sent to: it ends with 503',
    why: 'Nobody listens at that address and port: the pod is there, the engine in it still loads or has ended, targetPorts are not its --port, it listens at 127.0.0.1, or a NetworkPolicy cuts the way.',
    cure: 'Set targetPorts of the InferencePool (targetPort of the Service) to --port of the engine, start it with --host 0.0.0.0, and give its pod a readinessProbe at /health, so that it gets no request before',
    commands: [
      "kubectl get inferencepool POOL -o jsonpath='{.spec.targetPorts}'; kubectl exec POD -- sh -c 'curl -s -o /dev/null -w %{http_code} localhost:8000/health'",
    ],
  },
  {
    id: 'envoy_connection_closed',
    cause: 'role_missing',
    needles: ['upstream_reset_before_response_started', 'disconnect/reset before headers'],
    pattern:
      /^(?!.{0,2000}(?:ext_proc|gRPC error|gRPC config)).{0,2000}(?:started\{|reset reason: )(?:connection[ _]termination|remote[ _]reset)/,
    isSign: true,
    says: 'engines close the connection of a request before they answer: it ends with 503',
    why: 'vLLM and SGLang close an idle connection after 5 s; a gateway that keeps it longer (Envoy: an hour) sends a request into one that is being closed. Where the engine ended or was replaced at that time, that is the reason instead.',
    cure: 'Set VLLM_HTTP_TIMEOUT_KEEP_ALIVE=3700 (SGLANG_TIMEOUT_KEEP_ALIVE=3700) on the engines, more than the gateway keeps idle connections, or let the gateway try such requests again (retry on reset); see that no engine restarted then',
    commands: ['kubectl get pods -l SELECTOR    # RESTARTS'],
  },
  {
    id: 'envoy_protocol_error',
    cause: 'settings_refused',
    needles: ['upstream_reset_before_response_started', 'disconnect/reset before headers'],
    pattern:
      /^(?!.{0,2000}(?:ext_proc|gRPC error|gRPC config)).{0,2000}(?:started\{|reset reason: )protocol[ _]error/,
    says: 'the gateway and what it calls speak two protocols: requests end with 502 (protocol error)',
    why: 'The gateway speaks HTTP/2 or mTLS where the engine or gateway plugin takes plain HTTP/1.1, or the reverse: appProtocol or the name of a port (grpc, http2) says so, or a mesh sidecar stands before one of the two.',
    cure: 'Name the port of the engine http and leave appProtocol out of its Service and InferencePool (kubernetes.io/h2c for gRPC alone), and take pods of gateway and engines out of the mesh (sidecar.istio.io/inject: "false") or set PeerAuthentication to PERMISSIVE for them',
    commands: [
      "kubectl get svc,inferencepool -n NAMESPACE -o yaml | grep -B2 -A3 -E 'appProtocol|name: (grpc|http2)'",
    ],
    disturbs: 'frontend',
  },
  {
    id: 'envoy_overflow',
    cause: 'settings_refused',
    needles: ['upstream_reset_before_response_started{overflow', 'reset reason: overflow'],
    says: "the gateway's own limit of connections or waiting requests is reached: requests end with 503 (overflow)",
    why: 'Envoy lets 1024 connections and 1024 waiting requests to a cluster pass unless it is set otherwise. LLM requests last for seconds to minutes, so that many are open together.',
    cure: 'Raise circuitBreaker (maxConnections, maxPendingRequests, maxParallelRequests: 65535) in a BackendTrafficPolicy for the route, of Istio connectionPool of a DestinationRule (http2MaxRequests, http1MaxPendingRequests, tcp.maxConnections)',
    disturbs: 'frontend',
  },
  {
    id: 'envoy_response_timeout',
    cause: 'settings_refused',
    needles: ['response_timeout', 'upstream request timeout'],
    pattern: /(?:\bUT\b|upstream_response_timeout|upstream request timeout|\bresponse_timeout\b)/,
    isSign: true,
    says: 'the gateway gives requests up before engines have answered: they end with 504',
    why: 'The timeout of the route is over before the first byte: Envoy has 15 s where the route has none, and a long prompt, a queue, or an answer without streaming takes longer.',
    cure: 'Set timeouts: { request: 600s } in the rules of the HTTPRoute (timeout.http.requestTimeout of a BackendTrafficPolicy for Envoy Gateway, timeout: of a VirtualService for Istio), and stream answers',
    commands: ["kubectl get httproute ROUTE -o jsonpath='{.spec.rules[*].timeouts}'"],
    disturbs: 'frontend',
  },
  {
    id: 'envoy_no_route',
    cause: 'settings_refused',
    needles: ['route_not_found', 'No matching route found. It is likely'],
    pattern: /^(?=.{0,4000}\/v1\/)|No matching route found/,
    isSign: true,
    says: 'the gateway has no route for a request: it ends with 404',
    why: 'No HTTPRoute of the listener matches its host and path, or none its model: an AIGatewayRoute goes by the header x-ai-eg-model, which is the model of the body.',
    cure: 'Add the host, the path prefix /v1 and the model of the request (matches: headers x-ai-eg-model, value MODEL) to the route, attach it to this listener (parentRefs), and send the model name that it has',
    commands: ['kubectl get httproutes,aigatewayroutes -A -o wide'],
    disturbs: 'frontend',
  },
  {
    id: 'envoy_cluster_unknown',
    cause: 'settings_refused',
    needles: ['cluster_not_found'],
    pattern: /^(?!.{0,2000}ext_proc)/,
    says: 'the gateway has a route to a cluster that it does not have: requests end with 503',
    why: 'The backend of the route was not translated: the InferencePool or Service is not there, or its extension failed (the log of the gateway controller says why).',
    cure: 'Correct backendRefs of the HTTPRoute until its status has ResolvedRefs True, and read the log of the gateway controller for that route',
    commands: [STATUS],
    disturbs: 'nothing',
  },
  {
    id: 'envoy_direct_500',
    cause: 'settings_refused',
    needles: ['direct_response'],
    pattern:
      /(?:response_code\W{1,4}500\b.{0,1000}direct_response|direct_response.{0,1000}response_code\W{1,4}500\b|\b500 - direct_response)/,
    says: 'the gateway answers 500 by itself: the route has no valid backend',
    why: 'A rule whose backendRefs cannot be resolved (kind, group, name, ReferenceGrant, an AIServiceBackend that is not there) gets this answer in place of a backend.',
    cure: 'Correct backendRefs of that rule as the status of the route says (ResolvedRefs False and its message)',
    commands: [STATUS],
    disturbs: 'nothing',
  },
];
