import type { KnownFault } from '../known-fault.js';
import { AIBRIX } from './aibrix.js';
import { AIBRIX_ROUTING } from './aibrix-routing.js';
import { EPP_METRICS } from './epp-metrics.js';
import { EPP_PROFILES } from './epp-profiles.js';
import { EPP_SERVING } from './epp-serving.js';
import { EPP_VALUES } from './epp-values.js';
import { GATEWAY_CONDITIONS } from './gateway-conditions.js';
import { GATEWAY_PICKERS } from './gateway-pickers.js';
import { GATEWAY_REQUESTS } from './gateway-requests.js';
import { GATEWAY_ROUTES } from './gateway-routes.js';
import { KSERVE_LLM } from './kserve-llm.js';
import { KTHENA } from './kthena.js';
import { KTHENA_STARTS } from './kthena-starts.js';
import { LLM_D_COORDINATOR } from './llm-d-coordinator.js';
import { LLM_D_INDEX } from './llm-d-index.js';
import { LLM_D_PLUGINS } from './llm-d-plugins.js';
import { LLM_D_SIDECAR } from './llm-d-sidecar.js';
import { LLM_D_TOKENS } from './llm-d-tokens.js';
import { MULTI_NODE } from './multi-node.js';
import { RAY_SERVE_LLM } from './ray-serve-llm.js';

/** Of endpoint pickers and gateways. */
export const PICKERS_FAULTS: readonly KnownFault[] = [
  ...LLM_D_PLUGINS,
  ...EPP_PROFILES,
  ...LLM_D_SIDECAR,
  ...LLM_D_INDEX,
  ...LLM_D_TOKENS,
  ...EPP_METRICS,
  ...EPP_SERVING,
  ...GATEWAY_REQUESTS,
  ...GATEWAY_PICKERS,
  ...GATEWAY_ROUTES,
  ...GATEWAY_CONDITIONS,
  ...AIBRIX,
  ...KTHENA,
  ...KTHENA_STARTS,
  ...RAY_SERVE_LLM,
  ...KSERVE_LLM,
  ...EPP_VALUES,
  ...LLM_D_COORDINATOR,
  ...AIBRIX_ROUTING,
  ...MULTI_NODE,
];
