import { buildReport } from '../contract/build-report.js';
import { type Fact, type FactEvidence, fieldFact } from '../contract/facts.js';
import { type ObservedSize, observedFacts } from '../contract/observed-size.js';
import {
  BlockSizeKind,
  type CapabilityReport,
  EngineKind,
  EngineState,
  EvidenceSource,
} from '../gen/kvaccord/v1/capabilities.js';

/** What is known of a worker that has no sidecar. */
export interface DirectKnowledge {
  readonly workerId: string;
  readonly model: string;
  readonly instanceId: string;
  readonly revision: bigint;
  /** What its events told, by rank. */
  readonly observed: readonly ObservedSize[];
  /** What the operator says; undefined when nothing is said. */
  readonly declaredTokensPerBlock: number | undefined;
  /** Wall-clock milliseconds since 1970. */
  readonly nowMs: number;
  readonly version: string;
}

/** Why there is no size yet, for the person who waits: a healthy engine looks just like one that is not there. */
const SILENT =
  'its KV events have told no block size yet: an engine says nothing until it caches the first whole block of a prompt, ' +
  'so send it a prompt of at least one block, or declare the size with --kv-cache-block-size';

/** The report of a worker that has no sidecar: its model as the operator says it, its size as its events tell it. */
export function directReport(knowledge: DirectKnowledge): CapabilityReport {
  const { workerId, instanceId, revision, observed, declaredTokensPerBlock, nowMs, version } = knowledge;
  const isSilent = observed.length === 0 && declaredTokensPerBlock === undefined;
  return buildReport({
    workerId,
    instanceId,
    revision,
    observedAtMs: nowMs,
    sidecarVersion: version,
    engineState: isSilent ? EngineState.ENGINE_STATE_STARTING : EngineState.ENGINE_STATE_READY,
    engineTrouble: isSilent ? [SILENT] : [],
    facts: factsOf(knowledge),
    warnings: [],
    topology: undefined,
    probes: [],
  });
}

function factsOf({ model, observed, declaredTokensPerBlock, nowMs }: DirectKnowledge): Fact[] {
  const said = (origin: string, raw: string): FactEvidence => ({
    source: EvidenceSource.EVIDENCE_SOURCE_DECLARED,
    origin,
    raw,
    observedAtMs: nowMs,
  });
  const facts: Fact[] = [
    fieldFact(
      'engine.kind',
      EngineKind.ENGINE_KIND_OTHER,
      said('--kv-event-sources', 'an engine without a sidecar'),
    ),
    fieldFact('model.served_names', [model], said('--model', model)),
  ];
  if (declaredTokensPerBlock !== undefined) {
    facts.push({
      type: 'block_size',
      size: { kind: BlockSizeKind.BLOCK_SIZE_KIND_KV_EVENT, sizeTokens: declaredTokensPerBlock },
      forContract: true,
      evidence: said('--kv-cache-block-size', String(declaredTokensPerBlock)),
    });
  }
  facts.push(...observedFacts(observed));
  return facts;
}
