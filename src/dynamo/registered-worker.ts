import type { ToldWorker } from '../contract/told-worker.js';
import { parseJsonObject } from '../facts/json-object.js';
import { EvidenceSource } from '../gen/kvaccord/v1/capabilities.js';
import { type ModelCardOptions, readModelCard } from './model-card.js';

/**
 * What a model card tells of its worker, for somebody who has nothing else of
 * it: the configuration that the worker registered, and that Dynamo's router
 * goes by. Throws a `ProbeError` for a text that is no card.
 */
export function readRegisteredWorker(text: string, options: Omit<ModelCardOptions, 'source'>): ToldWorker {
  const { instanceId, origin } = options;
  const card = readModelCard(parseJsonObject(text, origin), {
    ...options,
    source: EvidenceSource.EVIDENCE_SOURCE_ENGINE_CONFIG,
  });
  const { facts, warnings, systemPort } = card;
  return {
    instanceId,
    facts,
    warnings,
    aliases: systemPort === undefined ? [instanceId] : [instanceId, new URL(systemPort).host],
  };
}
