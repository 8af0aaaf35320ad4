import type { EngineProbing } from '../descriptor/engine-descriptor.js';
import { dynamoModelCard } from './model-card-probe.js';
import { dynamoSystemHealth, dynamoSystemMetrics } from './system-status-probe.js';

/** The sources of a Dynamo worker: its system port, and its model card. */
export const DYNAMO_PROBING: EngineProbing = {
  probes: [dynamoSystemHealth, dynamoSystemMetrics, dynamoModelCard],
  grpcServices: [],
};
