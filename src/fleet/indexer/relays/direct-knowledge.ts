import type { DiscoveredWorker } from '../../../core/contract/evidence/discovered-worker.js';
import { reportedSource } from '../../../core/contract/evidence/event-source.js';
import { type Fact, type FactEvidence, fieldFact } from '../../../core/contract/evidence/facts.js';
import { type ObservedSize, observedFacts } from '../../../core/contract/evidence/observed-size.js';
import type { SidecarlessKnowledge } from '../../../core/contract/sidecarless-reports.js';
import type { ZmqSource } from '../../../core/relay/rank-source.js';
import { BlockSizeKind, EngineKind, EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';

/** What the operator, discovery and its events say of an engine that is read with no sidecar beside it. */
export interface DirectSources {
  /** As the operator says it; undefined when nothing is said. */
  readonly model: string | undefined;
  /** What discovery knows of it; undefined when it knows nothing. */
  readonly discovered: DiscoveredWorker | undefined;
  readonly instanceId: string;
  /** Where the events of each data-parallel rank are read. */
  readonly sources: readonly ZmqSource[];
  /** What its events showed, by rank. */
  readonly observed: readonly ObservedSize[];
  /** What the operator says; undefined when nothing is said. */
  readonly declaredTokensPerBlock: number | undefined;
  /** Wall-clock milliseconds since 1970. */
  readonly nowMs: number;
}

/** Why there is no size yet, for the person who waits: a healthy engine looks just like one that is not there. */
const SILENT =
  'its KV events have shown no block size yet: an engine says nothing until it caches the first whole block of a prompt, ' +
  'so send it a prompt of at least one block, or declare the size with --kv-cache-block-size';

/** The same of one that discovery lists with no size. */
const UNREGISTERED =
  'its registration gives no block size, and its KV events have shown none yet: an engine says nothing until it caches the ' +
  'first whole block of a prompt, so send it a prompt of at least one block';

/** Why there is nothing to compare, for the person who waits. */
const UNKNOWN =
  'discovery does not list it, so its model is not known: name it in --kv-event-sources as discovery does, or give --model';

/**
 * What is known of a worker without a sidecar: its size as its events show it,
 * the rest as discovery reports it or, where that knows nothing, the operator.
 */
export function directKnowledge(said: DirectSources): SidecarlessKnowledge {
  return {
    instanceId: said.instanceId,
    problem: problemOf(said),
    facts: factsOf(said),
    warnings: [...(said.discovered?.warnings ?? []), ...unreadRanks(said)],
  };
}

function problemOf({
  model,
  discovered,
  observed,
  declaredTokensPerBlock,
}: DirectSources): string | undefined {
  if (discovered !== undefined) {
    const hasSize =
      observed.length > 0 || discovered.facts.some((fact) => fact.type === 'block_size' && fact.forContract);
    return discovered.problem ?? (hasSize ? undefined : UNREGISTERED);
  }
  if (model === undefined) return UNKNOWN;
  return observed.length === 0 && declaredTokensPerBlock === undefined ? SILENT : undefined;
}

/** An engine with another number of ranks than sockets were named: what the others do is not known. */
function unreadRanks({ discovered, sources }: DirectSources): readonly string[] {
  const ranks = sources.length;
  return (discovered?.facts ?? []).flatMap((fact) => {
    if (fact.type !== 'field' || fact.field !== 'parallelism.data_parallel_size' || fact.value === ranks)
      return [];
    return [
      `--kv-event-sources names sockets of ${ranks}, but its data_parallel_size is ${fact.value} (${fact.evidence.origin}): name one for each rank`,
    ];
  });
}

function factsOf(known: DirectSources): Fact[] {
  const { model, discovered, observed, declaredTokensPerBlock, nowMs, sources } = known;
  const said = (origin: string, raw: string): FactEvidence => ({
    source: EvidenceSource.DECLARED,
    origin,
    raw,
    observedAtMs: nowMs,
  });
  const facts: Fact[] = [...(discovered?.facts ?? [])];
  const endpoints = sources.map(({ endpoint }) => endpoint).join(',');
  facts.push(
    fieldFact('kv_event_sources', sources.map(reportedSource), said('--kv-event-sources', endpoints)),
  );
  if (model !== undefined) facts.push(fieldFact('model.served_names', [model], said('--model', model)));
  if (discovered === undefined) {
    const raw = 'an engine without a sidecar';
    const kind = EngineKind.OTHER;
    facts.push(fieldFact('engine.kind', kind, said('--kv-event-sources', raw)));
  }
  // Where the worker says something itself, what the operator insists on is no word of the worker's.
  if (discovered === undefined && declaredTokensPerBlock !== undefined) {
    facts.push({
      type: 'block_size',
      size: { kind: BlockSizeKind.KV_EVENT, sizeTokens: declaredTokensPerBlock },
      forContract: true,
      evidence: said('--kv-cache-block-size', String(declaredTokensPerBlock)),
    });
  }
  facts.push(...observedFacts(observed));
  return facts;
}
