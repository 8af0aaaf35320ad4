import type { KnownFault } from './known-fault.js';

/** Of Dynamo and TensorRT-LLM. */
export const DYNAMO_FAULTS: readonly KnownFault[] = [];
