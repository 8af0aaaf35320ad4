import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import type { JsonObject } from '../../edge/platform/data/json-object.js';
import { EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { type ModelCardOptions, readModelCard } from './model-card.js';

/**
 * What a model card says of its worker, for a process that has nothing else of
 * it: the configuration that the worker registered, and that Dynamo's router
 * goes by. Throws a `ProbeError` for an object that is no card.
 */
export function readRegisteredWorker(
  card: JsonObject,
  options: Omit<ModelCardOptions, 'source'>,
): DiscoveredWorker {
  const source = EvidenceSource.ENGINE_CONFIG;
  const { facts, warnings, systemPort } = readModelCard(card, { ...options, source });
  const { instanceId } = options;
  return {
    instanceId,
    facts,
    warnings,
    aliases: systemPort === undefined ? [instanceId] : [instanceId, new URL(systemPort).host],
  };
}
