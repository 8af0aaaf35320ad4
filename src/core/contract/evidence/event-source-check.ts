import type { Conflict, KvEventSource } from '../../../gen/kvaccord/v1/capabilities.js';
import { EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import { nameSome } from '../../text/lists.js';
import type { FactEvidence } from './facts.js';

/** The field under which a report says that event sources differ; unlike other conflicts, what was configured is read. */
export const EVENT_SOURCES_FIELD = 'kv_event_sources';

/** Endpoints in one sentence. */
const MAX_NAMED = 4;

/** One side of the comparison. */
interface Claim {
  readonly value: readonly KvEventSource[];
  readonly evidence: FactEvidence;
}

/** What is wrong, for the report and for people. */
export interface EventSourceProblem {
  readonly conflict: Conflict;
  readonly warning: string;
}

/**
 * Compares where an operator has the events of an engine read with where the
 * engine itself says that it publishes them: by rank, port (or path) and
 * topic. Hosts are not compared: an engine says `*`. Undefined when they
 * agree, and where the engine says nothing.
 */
export function checkEventSources(configured: Claim, said: Claim): EventSourceProblem | undefined {
  if (said.evidence.source === EvidenceSource.DECLARED) return undefined;
  const wrong = configured.value.find((source) => !fits(source, said.value));
  if (wrong === undefined) return undefined;
  const own = said.value.find(({ dataParallelRank }) => dataParallelRank === wrong.dataParallelRank);
  const saidText =
    said.value.length === 0
      ? 'it publishes no KV events'
      : own === undefined
        ? `it publishes rank ${said.value.map(({ dataParallelRank }) => dataParallelRank).join(', ')} at ${nameEndpoints(said.value)}`
        : `it publishes rank ${own.dataParallelRank} at ${placeOf(own)}`;
  return {
    warning:
      `KV events of rank ${wrong.dataParallelRank} are read at ${placeOf(wrong)} (${configured.evidence.origin}), ` +
      `but the engine says (${said.evidence.origin}) that ${saidText}: unless a port is mapped between them, ` +
      'these are the events of another engine; correct the source, or leave it out to read what the engine says',
    conflict: {
      field: EVENT_SOURCES_FIELD,
      keptValue: placeOf(wrong),
      keptSource: configured.evidence.source,
      otherValue: own === undefined ? nameEndpoints(said.value) : placeOf(own),
      otherSource: said.evidence.source,
      otherOrigin: said.evidence.origin,
    },
  };
}

function fits(source: KvEventSource, said: readonly KvEventSource[]): boolean {
  const own = said.find(({ dataParallelRank }) => dataParallelRank === source.dataParallelRank);
  if (own === undefined || doorOf(own.endpoint) !== doorOf(source.endpoint)) return false;
  // An empty topic takes every one.
  return source.topic === '' || source.topic === own.topic;
}

/** The port, or the path of a local socket: what does not depend on where one looks from. */
function doorOf(endpoint: string): string {
  const bare = endpoint.replace(/^@/, '');
  return bare.startsWith('tcp://') ? bare.slice(bare.lastIndexOf(':') + 1) : bare;
}

function placeOf({ endpoint, topic }: KvEventSource): string {
  return topic === '' ? endpoint : `${endpoint} (topic ${topic})`;
}

function nameEndpoints(sources: readonly KvEventSource[]): string {
  if (sources.length === 0) return 'nowhere';
  return nameSome(
    sources.map(({ endpoint }) => endpoint),
    MAX_NAMED,
  );
}
