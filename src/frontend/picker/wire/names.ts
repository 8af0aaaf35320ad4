/**
 * Names of the Endpoint Picker's protocol: Gateway API Inference Extension,
 * proposal 004, and `pkg/epp/metadata/consts.go` of its version 1.5.0.
 */

/** Header, and member of the metadata, that lists endpoints: `IP:PORT[,IP:PORT…]`, the first one to be tried first. */
export const DESTINATION = 'x-gateway-destination-endpoint';

/** Namespace of the metadata that `DESTINATION` is written to, and `SERVED` is read from. */
export const ENDPOINT_NAMESPACE = 'envoy.lb';

/** Member of the metadata of an answer: the endpoint that gave it. */
export const SERVED = 'x-gateway-destination-endpoint-served';

/** Namespace of the metadata of a request that says which endpoints may be chosen. */
export const SUBSET_NAMESPACE = 'envoy.lb.subset_hint';

/** Member of the metadata of a request: the endpoints that may be chosen, a list or a text with commas. */
export const SUBSET = 'x-gateway-destination-endpoint-subset';

/** Header that names the request's `InferenceObjective`. */
export const OBJECTIVE = 'x-gateway-inference-objective';

/** Header with the model's name, written by the extension's body-based router. */
export const MODEL_NAME = 'x-gateway-model-name';

/** Header with the data-parallel rank: read by vLLM (vllm-project/vllm#24945) and SGLang (sgl-project/sglang#19832). */
export const RANK = 'x-data-parallel-rank';

/**
 * Header with the prefill worker's `IP:PORT`, read by llm-d's routing sidecar before a decode worker, which makes the two
 * steps: llm-d/llm-d-router (22 August 2026), `pkg/common/routing/common.go` and `pkg/sidecar/proxy/chat_completions.go`.
 * Of a list it takes the first, or with `--enable-prefiller-sampling` any.
 */
export const PREFILLER = 'x-prefiller-host-port';

/**
 * All headers by which that sidecar sends a request, or a part of it, to another host, which is shown the prompt then. A client
 * sets none of them.
 */
export const SIDECAR_HEADERS: readonly string[] = [
  PREFILLER,
  'x-encoder-hosts-ports',
  'x-data-parallel-host-port',
  'x-kv-cache-source-host-port',
];

/** Header of an answer that Envoy adds where the answer is that of an endpoint, and not its own. */
export const UPSTREAM_TIME = 'x-envoy-upstream-service-time';

/** Header of an answer of Envoy's own, where one of its bounds was reached. */
export const OVERLOADED = 'x-envoy-overloaded';

/** Headers of an answer that are looked at. */
export const ANSWER_HEADERS: ReadonlySet<string> = new Set([
  ':status',
  'content-encoding',
  'content-type',
  SERVED,
  UPSTREAM_TIME,
  OVERLOADED,
]);
