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

/** Lines of routers that send a prompt to one engine and what follows to another. */
export const SPLIT_ROUTER_RULES: readonly LogRule[] = WITHOUT.map(([needle, role]) =>
  rule(needle, (line, found) => found.addSignal('role_missing', line, { value: role, about: needle })),
);
