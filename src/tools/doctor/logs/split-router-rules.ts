import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';

/** Lines of routers for prefill and decode engines that have none of one role, and that role. */
const WITHOUT: readonly (readonly [needle: string, role: 'prefill' | 'decode' | 'pair'])[] = [
  // Shepherd Model Gateway, sglang_router, vllm-router.
  ['No available prefill workers', 'prefill'],
  ['No prefill workers available', 'prefill'],
  ['No prefill servers available', 'prefill'],
  ['Failed to select prefill worker', 'prefill'],
  ['Failed to select decode worker', 'decode'],
  ['No prefill endpoints found with', 'prefill'],
  ['No decode endpoints found with', 'decode'],
  ['No available decode workers', 'decode'],
  ['No decode workers available', 'decode'],
  ['No decode servers available', 'decode'],
  ['No available PD pair', 'pair'],
  // Dynamo: "Prefill router not activated and decode fallback is disabled. Failing request."
  ['Prefill router not activated', 'prefill'],
  // Its decode workers, of requests that no prefill worker has seen.
  ['Disaggregated params are required for decode', 'prefill'],
  ['worker received request with no prefill_result', 'prefill'],
];

/** Sentences of routers without a worker to send a request to, whatever its role. */
const WITHOUT_WORKERS = [
  'no instances found for endpoint',
  'no endpoints available for the given request',
  'no pods available in datastore',
  'no endpoints available to route work',
  'failed to find candidate pods',
  'no ready pods available',
  'no ready pods for routing',
  'No available workers (all circuits open',
  'All workers are unavailable (circuit breaker',
  'No workers available for endpoint',
  'No healthy worker pair available',
  'waiting for workers to become healthy',
  'No endpoints found for model',
  // smg, kthena and llm-d's router.
  'No available workers for model',
  'No available PD worker pairs',
  'screeners eliminated all endpoint',
] as const;

/** Lines of routers that have no engine for a request, or none of one role. */
export const SPLIT_ROUTER_RULES: readonly LogRule[] = [
  ...WITHOUT,
  ...WITHOUT_WORKERS.map((needle) => [needle, 'any'] as const),
].map(([needle, role]) =>
  rule(needle, (line, found) => found.addSignal('role_missing', line, { value: role, about: needle })),
);
