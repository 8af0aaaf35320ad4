import { describeSideChannel, describeTransfer } from '../../../core/contract/transfer/describe-transfer.js';
import { transferOf } from '../../../core/contract/transfer/transfer.js';
import { engineStateName, evidenceSourceName } from '../../../core/contract/wire/names.js';
import { onOneLine } from '../../../core/text/printable.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import { Canary_State, type CapabilityReport, EngineState } from '../../../gen/kvaccord/v1/capabilities.js';
import { engineOf, gpusOf, isSplit, roleOf } from './report-cells.js';

/** One sidecar's report, for a person. */
export function renderReport(report: CapabilityReport): string {
  const { contract, model, parallelism } = report;
  const table = plainTable(['FIELD', 'VALUE']);
  const state = report.engine?.state ?? EngineState.UNSPECIFIED;
  const because = report.evidence.find(({ field }) => field === 'contract.tokens_per_block');
  const rows: [string, string][] = [
    ['worker', report.workerId],
    ['instance', `${report.instanceId}, revision ${report.revision}`],
    [
      'engine',
      report.engine === undefined ? 'not reported' : `${engineOf(report)}, ${engineStateName(state)}`,
    ],
    ...(isSplit(report) ? ([['role', roleOf(report)]] satisfies [string, string][]) : []),
    ['model', (model?.servedNames ?? []).join(', ')],
    [
      'tokens per block',
      contract?.tokensPerBlock === undefined ? 'unknown' : String(contract.tokensPerBlock),
    ],
    [
      'evidence',
      because === undefined
        ? 'none'
        : `${evidenceSourceName(because.source)}, ${because.origin}: ${because.raw}`,
    ],
    ['hash algorithm', contract?.hashAlgorithm ?? 'not reported'],
    ['parallelism', parallelismOf(parallelism)],
    ['GPUs', gpusOf(report.topology)],
    ['digest', report.digest === '' ? '-' : report.digest],
    ...transferRows(report),
    ...canaryRows(report),
  ];
  for (const row of rows) pushRow(table, row);
  const notes = [
    ...(report.completeness?.reasons ?? []).map((reason) => `incomplete: ${reason}`),
    ...report.conflicts.map(
      ({ field, keptValue, keptSource, otherValue, otherSource }) =>
        `conflict: ${field} is ${keptValue} (${evidenceSourceName(keptSource)}), but ${evidenceSourceName(otherSource)} says ${otherValue}`,
    ),
    ...report.warnings.map((warning) => `warning: ${warning}`),
    ...(report.topology?.notes ?? []).map((note) => `topology: ${note}`),
  ].map((note) => onOneLine(note));
  return `${[table.toString(), ...notes].join('\n')}\n`;
}

/** How it exchanges KV blocks, and what came of each of its side channels. */
function transferRows(report: CapabilityReport): [string, string][] {
  const transfer = transferOf(report);
  if (transfer === undefined) return [];
  return [
    ['KV transfer', describeTransfer(transfer)],
    ...transfer.sideChannels
      .slice(0, MAX_SIDE_CHANNEL_ROWS)
      .map((channel): [string, string] => ['side channel', describeSideChannel(channel)]),
  ].map(([field, value]): [string, string] => [field ?? '', onOneLine(value ?? '')]);
}

/** As many ranks as one machine runs. */
const MAX_SIDE_CHANNEL_ROWS = 16;

/** What came of the canary, and of each path that was asked. */
function canaryRows({ canary }: CapabilityReport): [string, string][] {
  if (canary === undefined) return [];
  const word = (state: Canary_State): string => CANARY_STATES[state] ?? 'unknown';
  return [
    ['canary', `${word(canary.state)}${canary.reason === '' ? '' : `: ${canary.reason}`}`],
    ...canary.results
      .slice(0, MAX_CANARY_ROWS)
      .map(({ path, dataParallelRank, state, reason }): [string, string] => [
        'canary',
        `${path}${dataParallelRank === 0 ? '' : `, rank ${dataParallelRank}`}: ${word(state)}, ${reason}`,
      ]),
  ].map(([field, value]): [string, string] => [field ?? '', onOneLine(value ?? '')]);
}

/** As many as a report may have. */
const MAX_CANARY_ROWS = 16;

const CANARY_STATES: Readonly<Record<number, string>> = {
  [Canary_State.WAITING]: 'waiting',
  [Canary_State.SKIPPED]: 'skipped',
  [Canary_State.PASSED]: 'passed',
  [Canary_State.INCONCLUSIVE]: 'inconclusive',
  [Canary_State.FAILED]: 'failed',
};

function parallelismOf(parallelism: CapabilityReport['parallelism']): string {
  const sizes: [string, number | undefined][] = [
    ['TP', parallelism?.tensorParallelSize],
    ['PP', parallelism?.pipelineParallelSize],
    ['DP', parallelism?.dataParallelSize],
  ];
  const known = sizes.flatMap(([name, size]) => (size === undefined ? [] : [`${name} ${size}`]));
  return known.length === 0 ? 'not reported' : known.join(', ');
}
