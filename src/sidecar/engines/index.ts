import { openaiModels } from './openai-models.js';
import type { EngineProbe } from './probe.js';
import { vllmMetrics } from './vllm-metrics.js';
import { vllmVersion } from './vllm-version.js';

export { type Identification, identifyEngine } from './identify-engine.js';
export { shareRound } from './share-round.js';

/** Every probe, in the order of the report. To add an engine is to add its probes here, each with its recordings. */
export const ENGINE_PROBES: readonly EngineProbe[] = [openaiModels, vllmMetrics, vllmVersion];
