import { EPP_PROFILES } from './epp-profiles.js';
import type { KnownFault } from './known-fault.js';
import { LLM_D_PLUGINS } from './llm-d-plugins.js';
import { LLM_D_SIDECAR } from './llm-d-sidecar.js';
import { PRODUCTION_STACK } from './production-stack.js';

/** Of endpoint pickers and gateways. */
export const PICKERS_FAULTS: readonly KnownFault[] = [
  ...PRODUCTION_STACK,
  ...LLM_D_PLUGINS,
  ...EPP_PROFILES,
  ...LLM_D_SIDECAR,
];
