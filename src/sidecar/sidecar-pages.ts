import { blockSizeKindName, engineKindName, engineStateName, evidenceSourceName } from '../contract/names.js';
import { CapabilityReport, EngineState } from '../gen/kvaccord/v1/capabilities.js';
import type { ApiRoute, JsonSchema } from '../http/api.js';
import type { ProbeBoard } from '../http/probe-board.js';
import type { StatusContent, StatusTable, Tone } from '../http/status-page.js';
import { describeTruth } from './report-log.js';
import type { ReportStore } from './report-store.js';

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
    contract: {
      type: 'object',
      properties: { tokensPerBlock: { type: 'integer', minimum: 1, maximum: 1_048_576 } },
    },
    digest: { type: 'string', description: 'Equal contracts have equal digests; absent while incomplete.' },
  },
};

/** What can be asked below `/api/v1`. */
export function sidecarApi(store: ReportStore): ApiRoute[] {
  return [
    {
      path: '/capabilities',
      summary: 'The current report, as GetCapabilities gives it.',
      response: REPORT_SCHEMA,
      handle: () => CapabilityReport.toJSON(store.current),
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
  const state = report.engine?.state ?? EngineState.ENGINE_STATE_UNSPECIFIED;
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
export function sidecarStatus(store: ReportStore): StatusContent {
  const report = store.current;
  return {
    title: `kv-accord sidecar ${report.sidecarVersion}`,
    headline: headlineOf(report),
    facts: factsOf(report),
    tables: [
      sizesOf(report),
      conflictsOf(report),
      sourcesOf(report),
      gpusOf(report),
      evidenceOf(report),
    ].filter((table) => table.rows.length > 0),
  };
}

function headlineOf(report: CapabilityReport): { text: string; tone: Tone } {
  const reasons = report.completeness?.reasons ?? [];
  if (reasons.length > 0) return { text: reasons.join('\n'), tone: 'bad' };
  if (report.engine?.state === EngineState.ENGINE_STATE_DRAINING) {
    return { text: 'Draining: this worker is going away', tone: 'warn' };
  }
  return { text: describeTruth(report), tone: report.conflicts.length > 0 ? 'warn' : 'good' };
}

function factsOf(report: CapabilityReport): [string, string][] {
  const { engine, model, contract, capacity, topology } = report;
  const all: [string, string | undefined][] = [
    ['worker', report.workerId],
    ['instance', report.instanceId],
    ['revision', String(report.revision)],
    ['observed at', report.observedAt?.toISOString()],
    ['engine', engine && `${engineKindName(engine.kind)} ${engine.version}`.trim()],
    ['engine state', engine && engineStateName(engine.state)],
    ['served as', model?.servedNames.join(', ')],
    ['model', model?.root],
    ['tokens per block', contract?.tokensPerBlock?.toString()],
    ['hash algorithm', contract?.hashAlgorithm],
    ['KV blocks', capacity?.totalKvBlocks?.toString()],
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
  return {
    title: 'Sources asked',
    columns: ['source', 'asked', 'facts', 'answer'],
    rows: report.probes.map(({ probe, origin, answered, factCount, error }) => [
      probe,
      origin,
      String(factCount),
      answered ? { text: 'answered', tone: 'good' } : { text: error, tone: 'warn' },
    ]),
  };
}

function gpusOf(report: CapabilityReport): StatusTable {
  return {
    title: 'GPUs',
    columns: ['uuid', 'product', 'PCI', 'NUMA node', 'MIG'],
    rows: (report.topology?.gpus ?? [])
      .slice(0, MAX_ROWS)
      .map((gpu) => [
        gpu.uuid,
        gpu.productName,
        gpu.pciBusId,
        gpu.numaNode?.toString() ?? '',
        gpu.migProfile ?? '',
      ]),
  };
}

function evidenceOf(report: CapabilityReport): StatusTable {
  return {
    title: 'Evidence',
    columns: ['field', 'source', 'asked', 'what came back'],
    rows: report.evidence
      .slice(0, MAX_ROWS)
      .map(({ field, source, origin, raw }) => [field, evidenceSourceName(source), origin, raw]),
  };
}
