import type { KnownFault } from '../known-fault.js';
import { ANSWERS } from './answers.js';
import { EMPTY_ANSWERS } from './empty-answers.js';
import { ENVOY } from './envoy.js';
import { GO_PROXIES } from './go-proxies.js';
import { HTTP_CLIENTS } from './http-clients.js';
import { LITELLM } from './litellm.js';
import { NGINX } from './nginx.js';
import { POLICIES } from './policies.js';
import { PRODUCTION_STACK } from './production-stack.js';
import { SEMANTIC_ROUTER } from './semantic-router.js';
import { SMG_FAULTS } from './smg.js';
import { SMG_REQUESTS } from './smg-requests.js';
import { SMG_WORKERS } from './smg-workers.js';
import { VLLM_ROUTER } from './vllm-router.js';
import { VLLM_ROUTER_INDEX } from './vllm-router-index.js';

/** Of routers that stand beside engines: of SGLang (smg), of vLLM and of its production stack, proxies of Python, Envoy and nginx. */
export const ROUTERS_FAULTS: readonly KnownFault[] = [
  ...SMG_FAULTS,
  ...SMG_REQUESTS,
  ...SMG_WORKERS,
  ...PRODUCTION_STACK,
  ...VLLM_ROUTER,
  ...VLLM_ROUTER_INDEX,
  ...LITELLM,
  ...HTTP_CLIENTS,
  ...GO_PROXIES,
  ...ENVOY,
  ...NGINX,
  ...ANSWERS,
  ...EMPTY_ANSWERS,
  ...POLICIES,
  ...SEMANTIC_ROUTER,
];
