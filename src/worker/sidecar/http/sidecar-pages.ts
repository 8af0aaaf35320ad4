import { describeTransfer } from '../../../core/contract/transfer/describe-transfer.js';
import { type SideChannelStateName, transferOf } from '../../../core/contract/transfer/transfer.js';
import { CACHE_VIEWS } from '../../../core/contract/wire/cache-view.js';
import {
  blockSizeKindName,
  engineKindName,
  engineRoleName,
  engineStateName,
  evidenceSourceName,
} from '../../../core/contract/wire/names.js';
import type { RankSource } from '../../../core/relay/rank-source.js';
import type { ApiRoute, JsonSchema } from '../../../edge/http/api.js';
import type { ProbeBoard } from '../../../edge/http/probe-board.js';
import type { Cell, StatusContent, StatusTable, Tone } from '../../../edge/http/status-page.js';
import { CapabilityReport, EngineState, type ProbeOutcome } from '../../../gen/kvaccord/v1/capabilities.js';
import type { KvEventsController } from '../kv-events/kv-events-controller.js';
import { describeTruth } from '../report/report-log.js';
import type { ReportStore } from '../report/report-store.js';
import { topologyTables } from './topology-tables.js';

/** Rows of a table of the status page that one report can fill; the API has them all. */
const MAX_ROWS = 200;

/** What `/api/v1/capabilities` answers with: the proto's own JSON form. */
const REPORT_SCHEMA: JsonSchema = {
  type: 'object',
  description:
    'kvaccord.v1.CapabilityReport in the JSON form of Protocol Buffers: 64-bit numbers are texts, and what the engine cannot say is absent.',
  required: ['workerId', 'instanceId', 'revision'],
  properties: {
    workerId: { type: 'string' },
    instanceId: { type: 'string' },
    revision: { type: 'string' },
    engine: {
      type: 'object',
      properties: {
        kind: { type: 'string' },
        version: { type: 'string' },
        state: { type: 'string' },
        role: {
          type: 'string',
          description: 'Which part of a request the engine computes; absent where it cannot say.',
          enum: ['ENGINE_ROLE_AGGREGATED', 'ENGINE_ROLE_PREFILL', 'ENGINE_ROLE_DECODE'],
        },
        servingAddresses: {
          type: 'array',
          description: 'How others reach the engine first, then how this sidecar does.',
          items: {
            type: 'object',
            properties: { protocol: { type: 'string' }, address: { type: 'string' } },
          },
        },
        apis: {
          type: 'array',
          description: 'API paths that the engine has; absent where that could not be found out.',
          items: { type: 'string' },
        },
      },
    },
    contract: {
      type: 'object',
      properties: { tokensPerBlock: { type: 'integer', minimum: 1, maximum: 1_048_576 } },
    },
    transfer: {
      type: 'object',
      description: 'How the engine exchanges KV blocks with others; absent where nothing says that it does.',
      properties: {
        connector: { type: 'string' },
        role: { type: 'string' },
        engineId: { type: 'string' },
        compatibilityHash: { type: 'string', description: 'Engines whose hashes differ refuse each other.' },
        sideChannels: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              dataParallelRank: { type: 'integer' },
              address: { type: 'string' },
              state: { type: 'string' },
              reason: { type: 'string' },
            },
          },
        },
      },
    },
    digest: { type: 'string', description: 'Equal contracts have equal digests; absent while incomplete.' },
  },
};

/** What `/api/v1/kv-events` answers with. */
const EVENTS_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['reason', 'sources', 'ranks'],
  properties: {
    reason: { type: 'string', description: 'Why no KV events are read; empty when they are.' },
    sources: {
      type: 'array',
      items: {
        type: 'object',
        required: ['rank'],
        properties: {
          kind: { type: 'string', enum: ['zmq', 'trtllm-drain'] },
          rank: { type: 'integer' },
          endpoint: { type: 'string' },
          topic: { type: 'string' },
          replayEndpoint: { type: 'string' },
          url: { type: 'string' },
        },
      },
    },
    ranks: {
      type: 'array',
      items: {
        type: 'object',
        required: ['rank', 'picture', 'reason', 'blockCount'],
        properties: {
          rank: { type: 'integer' },
          picture: { type: 'string', enum: [...CACHE_VIEWS] },
          reason: { type: 'string', description: 'Why the cache view is not exact; empty when it is.' },
          blockCount: { type: 'integer', description: 'Blocks in the cache view, all tiers.' },
          engineSequence: { type: 'integer' },
          unknownBeforeSequence: { type: 'integer' },
          awaitsFirstBatch: {
            type: 'boolean',
            description: 'True while nothing but a first batch is missing; absent otherwise.',
          },
        },
      },
    },
  },
};

/** What the pages show of the KV events. */
type Events = Pick<KvEventsController, 'reason' | 'sources' | 'relay'>;

/** What can be asked below `/api/v1`. */
export function sidecarApi(store: ReportStore, events: Events): ApiRoute[] {
  return [
    {
      path: '/capabilities',
      summary: 'The current report, as GetCapabilities gives it.',
      response: REPORT_SCHEMA,
      handle: () => CapabilityReport.toJSON(store.current),
    },
    {
      path: '/kv-events',
      summary: 'Which KV events are read, and how much they show of each data-parallel rank.',
      response: EVENTS_SCHEMA,
      handle: () => ({ reason: events.reason, sources: events.sources, ranks: events.relay.ranks }),
    },
  ];
}

/**
 * Sets what the probes answer. A sidecar is ready as soon as it serves: one
 * that waited for its engine would deadlock a pod. The engine is shown by
 * `?verbose` and decides nothing.
 */
export function setProbes(board: ProbeBoard, store: ReportStore): void {
  const report = store.current;
  const state = report.engine?.state ?? EngineState.UNSPECIFIED;
  const reason = report.completeness?.reasons[0];
  const engine = {
    name: 'engine',
    ok: true,
    text: `${engineStateName(state)}${reason === undefined ? '' : ` (${reason})`}; it does not count here`,
  };
  board.set('startupz', [{ name: 'serving', ok: true }, engine]);
  board.set('readyz', [
    store.isDraining
      ? { name: 'serving', ok: false, text: 'draining: this worker is going away' }
      : { name: 'serving', ok: true },
    engine,
  ]);
  board.set('livez', [{ name: 'process', ok: true }, engine]);
}

/** What a person sees in a browser. */
export function sidecarStatus(store: ReportStore, events: Events): StatusContent {
  const report = store.current;
  return {
    title: `kv-accord sidecar ${report.sidecarVersion}`,
    headline: headlineOf(report),
    facts: [...factsOf(report), ['KV events', events.reason === '' ? 'read' : events.reason]],
    tables: [
      sizesOf(report),
      conflictsOf(report),
      ranksOf(events),
      eventSourcesOf(events),
      sideChannelsOf(report),
      sourcesOf(report),
      ...topologyTables(report.topology),
      evidenceOf(report),
    ].filter((table) => table.rows.length > 0),
  };
}

function headlineOf(report: CapabilityReport): { text: string; tone: Tone } {
  const reasons = report.completeness?.reasons ?? [];
  if (reasons.length > 0) return { text: reasons.join('\n'), tone: 'bad' };
  if (report.engine?.state === EngineState.DRAINING) {
    return { text: 'Draining: this worker is going away', tone: 'warn' };
  }
  return { text: describeTruth(report), tone: report.conflicts.length > 0 ? 'warn' : 'good' };
}

function factsOf(report: CapabilityReport): [string, string][] {
  const { engine, model, contract, capacity, topology } = report;
  const transfer = transferOf(report);
  const all: [string, string | undefined][] = [
    ['worker', report.workerId],
    ['instance', report.instanceId],
    ['revision', String(report.revision)],
    ['observed at', report.observedAt?.toISOString()],
    ['engine', engine && `${engineKindName(engine.kind)} ${engine.version}`.trim()],
    ['engine state', engine && engineStateName(engine.state)],
    ['role', engine?.role === undefined ? undefined : engineRoleName(engine.role)],
    ['API paths', engine?.apis.join(', ')],
    ['served as', model?.servedNames.join(', ')],
    ['model', model?.root],
    ['tokens per block', contract?.tokensPerBlock?.toString()],
    ['hash algorithm', contract?.hashAlgorithm],
    ['KV blocks', capacity?.totalKvBlocks?.toString()],
    ['KV transfer', transfer === undefined ? undefined : describeTransfer(transfer)],
    ['transfer engine id', transfer?.values.engine_id],
    ['digest', report.digest],
    ['warnings', report.warnings.join('; ')],
    ['topology', topology?.notes.join('; ')],
  ];
  return all.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]]));
}

function sizesOf(report: CapabilityReport): StatusTable {
  return {
    title: 'Block sizes',
    columns: ['kind', 'tokens', 'group'],
    rows: report.blockSizes.map(({ kind, sizeTokens, groupIndex }) => [
      blockSizeKindName(kind),
      String(sizeTokens),
      groupIndex?.toString() ?? '',
    ]),
  };
}

function conflictsOf(report: CapabilityReport): StatusTable {
  return {
    title: 'Sources that differ',
    columns: ['field', 'used', 'not used', 'from'],
    rows: report.conflicts
      .slice(0, MAX_ROWS)
      .map((each) => [
        each.field,
        { text: `${each.keptValue} (${evidenceSourceName(each.keptSource)})`, tone: 'good' },
        { text: `${each.otherValue} (${evidenceSourceName(each.otherSource)})`, tone: 'warn' },
        each.otherOrigin,
      ]),
  };
}

function sourcesOf(report: CapabilityReport): StatusTable {
  const firstWith = new Map<string, string>();
  const answerOf = ({ probe, answered, error }: ProbeOutcome): Cell => {
    if (answered) return { text: 'answered', tone: 'good' };
    const first = firstWith.get(error);
    if (first === undefined) firstWith.set(error, probe);
    return { text: first === undefined ? error : `the same as ${first}`, tone: 'warn' };
  };
  return {
    title: 'Sources asked',
    columns: ['source', 'asked', 'facts', 'answer'],
    rows: report.probes.map((outcome) => [
      outcome.probe,
      outcome.origin,
      String(outcome.factCount),
      answerOf(outcome),
    ]),
  };
}

function ranksOf({ relay }: Events): StatusTable {
  return {
    title: 'KV cache by data-parallel rank',
    columns: ['rank', 'cache view', 'blocks', 'engine sequence', 'why not exact'],
    rows: relay.ranks
      .slice(0, MAX_ROWS)
      .map(({ rank, picture, blockCount, engineSequence, reason }) => [
        String(rank),
        { text: picture, tone: picture === 'exact' ? 'good' : 'warn' },
        String(blockCount),
        engineSequence?.toString() ?? '',
        reason,
      ]),
  };
}

function eventSourcesOf({ sources }: Events): StatusTable {
  const cellsOf = (source: RankSource): string[] =>
    source.kind === 'trtllm-drain'
      ? [source.url, '', '']
      : [source.endpoint, source.topic, source.replayEndpoint ?? ''];
  return {
    title: 'Sources of KV events',
    columns: ['rank', 'read from', 'topic', 'replayed from'],
    rows: sources.slice(0, MAX_ROWS).map((source) => [String(source.rank), ...cellsOf(source)]),
  };
}

function sideChannelsOf(report: CapabilityReport): StatusTable {
  return {
    title: 'Side channels of KV transfers',
    columns: ['rank', 'address', 'state', 'why'],
    rows: (transferOf(report)?.sideChannels ?? [])
      .slice(0, MAX_ROWS)
      .map(({ dataParallelRank, address, state, reason }) => [
        String(dataParallelRank),
        address,
        { text: state.replace('_', ' '), tone: CHANNEL_TONES[state] ?? 'plain' },
        reason,
      ]),
  };
}

const CHANNEL_TONES: Readonly<Partial<Record<SideChannelStateName, Tone>>> = {
  answered: 'good',
  silent: 'bad',
  unreachable: 'bad',
};

function evidenceOf(report: CapabilityReport): StatusTable {
  return {
    title: 'Evidence',
    columns: ['field', 'source', 'asked', 'what came back'],
    rows: report.evidence
      .slice(0, MAX_ROWS)
      .map(({ field, source, origin, raw }) => [field, evidenceSourceName(source), origin, raw]),
  };
}
