import { EPP_PROFILES } from './epp-profiles.js';
import type { KnownFault } from './known-fault.js';
import { LLM_D_PLUGINS } from './llm-d-plugins.js';
import { LLM_D_SIDECAR } from './llm-d-sidecar.js';

/** Of endpoint pickers and gateways. */
export const PICKERS_FAULTS: readonly KnownFault[] = [...LLM_D_PLUGINS, ...EPP_PROFILES, ...LLM_D_SIDECAR];
