import { packTokenIds } from '../../../../src/core/contract/tokens/token-probes.js';
import type { SettingName, Side, SizeBasis } from '../../../../src/engines/diagnosis/sighting-words.js';
import type { Signal } from '../../../../src/engines/diagnosis/signals.js';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { CauseId, Confidence, Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import {
  type EventSourceSighting,
  type Evidence,
  type EvidencePart,
  joinEvidence,
  type SettingSighting,
  type SizeSighting,
  type TokenSighting,
} from '../../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../../src/tools/doctor/gather/metrics.js';
import type {
  DecisionTally,
  LogSummary,
  RateSeries,
  SignalTally,
} from '../../../../src/tools/doctor/logs/log-summary.js';
import type { MemoryArithmetic } from '../../../../src/tools/doctor/memory/memory-arithmetic.js';
import type { Finding } from '../../../../src/tools/manifests/lint/findings/finding.js';

const NO_RATE: RateSeries = { startMs: undefined, bucketMs: 1_000, counts: [] };

export function sizeOf(
  side: Side,
  tokensPerBlock: number,
  basis: SizeBasis,
  who: string = side === 'worker' ? 'w0' : '',
): SizeSighting {
  return {
    side,
    who,
    tokensPerBlock,
    basis,
    origin: { place: `${side}.txt:1`, text: String(tokensPerBlock) },
  };
}

export function settingOf(
  side: Side,
  name: SettingName,
  value: string,
  changes: Partial<SettingSighting> = {},
): SettingSighting {
  const origin = { place: `${side}.yaml:7:3`, text: `${name}: ${value}` };
  return { side, who: '', name, value, isDefault: false, origin, ...changes };
}

/** What a worker makes of the probe "message". */
export function tokensOf(who: string, ids: readonly number[], group = 'tiny'): TokenSighting {
  return {
    group,
    who,
    values: { 'tokens.message': ids.join() },
    answers: [
      {
        name: 'message',
        isRefused: false,
        isUndated: false,
        tokenCount: ids.length,
        tokenIds: packTokenIds(Uint32Array.from(ids)),
      },
    ],
    origin: { place: `worker ${who}`, text: 'POST /tokenize' },
  };
}

/** A worker whose events are read at one port while its engine publishes at another. */
export function misreadBy(who: string, readPort: number, ownPort: number): EventSourceSighting {
  return {
    who,
    readAt: `tcp://127.0.0.1:${readPort}`,
    saidAt: `tcp://127.0.0.1:${ownPort}`,
    publishes: [`tcp://127.0.0.1:${ownPort}`],
    owner: undefined,
    origin: { place: `worker ${who}`, text: 'GET /kv_event_sources' },
  };
}

export function tallyOf(signal: Signal, count: number, changes: Partial<SignalTally> = {}): SignalTally {
  return {
    signal,
    count,
    rate: NO_RATE,
    byWorker: new Map(),
    first: { place: 'frontend.log:12', text: signal },
    values: new Map(),
    ...changes,
  };
}

export function decisionsOf(changes: Partial<DecisionTally> = {}): DecisionTally {
  return {
    count: 40,
    reporting: 40,
    withoutCache: 40,
    cachedBlocks: 0,
    largestTreeSize: undefined,
    loadBlocks: undefined,
    byWorker: new Map([
      ['1', 20],
      ['2', 20],
    ]),
    foundByWorker: new Map(),
    rate: NO_RATE,
    cachedRate: NO_RATE,
    foundRate: NO_RATE,
    prompts: 0,
    first: { place: 'frontend.log:3', text: 'Selected worker' },
    last: { place: 'frontend.log:90', text: 'Selected worker' },
    promptTokens: 0,
    engineCachedTokens: 0,
    promptRate: NO_RATE,
    engineCachedRate: NO_RATE,
    firstTokenMs: { cold: undefined, warm: undefined },
    ...changes,
  };
}

export function logOf(tallies: readonly SignalTally[] = [], changes: Partial<LogSummary> = {}): LogSummary {
  return {
    name: 'frontend.log',
    bytes: 100_000,
    lines: 1_000,
    isWhole: true,
    unreadableLines: 0,
    cutLines: 0,
    notes: [],
    programs: new Map([['dynamo', 1_000]]),
    firstMs: undefined,
    lastMs: undefined,
    signals: new Map(tallies.map((tally) => [tally.signal, tally])),
    decisions: undefined,
    costs: undefined,
    engine: undefined,
    sizes: [],
    settings: [],
    ...changes,
  };
}

/** What the numbers of a frontend's page are; all that is left out is not on it. */
export interface FrontendNumbers {
  readonly size?: number;
  readonly hitRate?: number;
  readonly decisions?: number;
  readonly cachedTokens?: number;
  readonly promptTokens?: number;
  readonly stored?: number;
  readonly parentMissing?: number;
  readonly removed?: number;
  readonly removeMissing?: number;
}

/** A page of a frontend, written as Dynamo writes it and read as any other. */
export function frontendPage(numbers: FrontendNumbers, name = 'http://frontend:8000/metrics'): EvidencePart {
  const { size, hitRate, decisions = 48, cachedTokens, promptTokens = 194_112 } = numbers;
  const { stored, parentMissing = 0, removed = 0, removeMissing = 0 } = numbers;
  const applied = (type: string, status: string, value: number): string =>
    `dynamo_component_kv_cache_events_applied{event_type="${type}",status="${status}",worker_id="a"} ${value}`;
  const lines = [
    'dynamo_frontend_requests_total{model="tiny",status="success"} 48',
    ...(size === undefined ? [] : [`dynamo_frontend_model_kv_cache_block_size{model="tiny"} ${size}`]),
    ...(hitRate === undefined
      ? []
      : [
          `dynamo_component_router_kv_hit_rate_sum{router_id="1"} ${hitRate * decisions}`,
          `dynamo_component_router_kv_hit_rate_count{router_id="1"} ${decisions}`,
        ]),
    ...(cachedTokens === undefined
      ? []
      : [
          `dynamo_frontend_cached_tokens_sum{model="tiny"} ${cachedTokens}`,
          `dynamo_frontend_input_sequence_tokens_sum{model="tiny"} ${promptTokens}`,
        ]),
    ...(stored === undefined
      ? []
      : [
          applied('stored', 'ok', stored),
          applied('stored', 'parent_block_not_found', parentMissing),
          applied('removed', 'ok', removed),
          applied('removed', 'block_not_found', removeMissing),
        ]),
  ];
  return metricsPart(name, `${lines.join('\n')}\n`);
}

/** A page of a worker's publisher. */
export function workerPage(received: number, emptied: number, dropped = 0): EvidencePart {
  const name = 'dynamo_component_kv_publisher';
  return metricsPart(
    'http://worker-0:9090/metrics',
    [
      `${name}_zmq_events_total{event_type="stored",stage="received"} ${received}`,
      `${name}_zmq_suspicious_events_total{event_type="stored",reason="empty_store_blocks"} ${emptied}`,
      `${name}_engines_dropped_events_total{worker_id="a"} ${dropped}`,
      '',
    ].join('\n'),
  );
}

export function findingOf(ruleId: string, changes: Partial<Finding> = {}): Finding {
  return {
    ruleId,
    severity: 'error',
    message: `${ruleId} here`,
    consequence: 'Nothing is found.',
    advice: 'Change it.',
    file: 'graph.yaml',
    line: 4,
    column: 5,
    ...changes,
  };
}

export function memoryOf(changes: Partial<MemoryArithmetic> = {}): MemoryArithmetic {
  return {
    who: 'w0',
    bytesPerToken: 131_072,
    bytesUnknown: undefined,
    bytesPerBlock: undefined,
    budgetBytes: 40e9,
    capacityTokens: 300_000,
    demandTokens: 100_000,
    retentionSeconds: undefined,
    largestBatch: 12,
    isOverAllGpus: false,
    capacityUnknown: undefined,
    steps: [],
    ...changes,
  };
}

/** Joins parts and pieces of evidence. */
export function joined(...parts: readonly (EvidencePart | Partial<Omit<Evidence, 'sources'>>)[]): Evidence {
  return joinEvidence(
    parts.map((part) =>
      'source' in part
        ? part
        : { source: { kind: 'log', name: 'test', status: 'read', detail: '' }, ...part },
    ),
  );
}

/** `block_size_mismatch certain`, the first first. */
export function namesOf({ assessments }: Pick<Diagnosis, 'assessments'>): string[] {
  return assessments.map(({ cause, confidence }) => `${cause} ${confidence}`);
}

/** How sure a diagnosis is of one cause; undefined when it does not name it. */
export function sureOf(evidence: Evidence, cause: CauseId): Confidence | undefined {
  return diagnose(evidence).assessments.find((assessment) => assessment.cause === cause)?.confidence;
}
