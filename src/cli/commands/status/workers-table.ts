import type { FleetSnapshot } from '../../../app/fleet-snapshot.js';
import {
  engineKindName,
  engineRoleName,
  engineStateName,
  evidenceSourceName,
} from '../../../core/contract/names.js';
import { UNKNOWN_SHARE } from '../../../core/contract/unknown-share.js';
import { onOneLine } from '../../../core/text/printable.js';
import { cutToWidth, textWidth } from '../../../core/text/text-width.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { CapabilityReport, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import {
  Canary_State,
  EngineKind,
  EngineRole,
  EngineState,
  EvidenceSource,
} from '../../../gen/kvaccord/v1/capabilities.js';
import type { Agreement, Worker } from '../../../gen/kvaccord/v1/fleet.js';
import { AgreementState, MemberOffer, MemberState } from '../../../gen/kvaccord/v1/fleet.js';
import { Picture } from '../../../gen/kvaccord/v1/kv_events.js';

const STATES: Readonly<Record<number, string>> = {
  [MemberState.DISCOVERED]: 'discovered',
  [MemberState.INCOMPLETE]: 'incomplete',
  [MemberState.REPORTED]: 'reported',
  [MemberState.CONFORMING]: 'conforming',
  [MemberState.VERIFIED]: 'verified',
  [MemberState.DISSENTING]: 'dissenting',
  [MemberState.DRAINING]: 'draining',
  [MemberState.LOST]: 'lost',
};

const OFFERS: Readonly<Record<number, string>> = {
  [MemberOffer.NONE]: 'no',
  [MemberOffer.LOAD_ONLY]: 'load only',
  [MemberOffer.FULL]: 'yes',
};

/** Worst first, as on the aggregator's page: what a person has to act on. */
const STATE_ORDER: readonly MemberState[] = [
  MemberState.DISSENTING,
  MemberState.INCOMPLETE,
  MemberState.LOST,
  MemberState.DISCOVERED,
  MemberState.DRAINING,
  MemberState.REPORTED,
  MemberState.CONFORMING,
  MemberState.VERIFIED,
];

/** Left out where they do not fit, the first one first. */
const SPARE_COLUMNS: readonly string[] = ['GPUS', 'FROM', 'ENGINE', 'ROLE', 'PICTURE', 'TOKENS/BLOCK'];

/** Spaces between two columns. */
const GAP = 2;

/** Before a reason that stands below its worker. */
const INDENT = '    ';

/** How much is known of a worker's cache; a fleet without an index tells nothing. */
const PICTURES: Readonly<Record<number, string>> = {
  [Picture.UNSPECIFIED]: '-',
  [Picture.NONE]: 'none',
  [Picture.DOUBTED]: 'doubted',
  [Picture.APPROXIMATE]: 'approximate',
  [Picture.STALE]: 'stale',
  [Picture.PARTIAL]: 'partial',
  [Picture.EXACT]: 'exact',
};

/**
 * The fleet, or one sidecar's report, for a person. `columns` is the width that
 * the fleet has to fit: spare columns are then left out, and reasons stand whole
 * below their workers, wrapped; left out, each worker has one line.
 */
export function renderSnapshot(snapshot: FleetSnapshot, columns?: number): string {
  const text =
    snapshot.type === 'sidecar'
      ? renderReport(snapshot.report)
      : renderFleet(snapshot.agreements, snapshot.workers, columns);
  if (columns === undefined) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, columns))
    .join('\n');
}

function renderFleet(
  agreements: readonly Agreement[],
  workers: readonly Worker[],
  columns: number | undefined,
): string {
  const parts = agreements.map((agreement) => {
    const own = workers.filter(({ group }) => group === agreement.group);
    const others = agreement.group === '' ? [] : workers.filter(({ group }) => group === '');
    return [
      headline(agreement),
      ...partialLines(agreement),
      ...reasonLines(agreement),
      tableOf([...own, ...others].sort(byUrgency), columns),
    ]
      .filter((part) => part !== '')
      .join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}

function headline(agreement: Agreement): string {
  const name = agreement.group === '' ? 'No model yet' : onOneLine(agreement.group);
  const { contract } = agreement;
  if (agreement.state === AgreementState.AGREED && contract !== undefined) {
    const by = contract.isOverride ? 'set by override' : 'agreed';
    const ready = agreement.ready ? 'ready' : 'not ready';
    return `${name}: gate open, ${contract.tokensPerBlock} tokens per block (${by}), epoch ${agreement.epoch}, ${ready}, routing ${onOneLine(agreement.routingMode)}`;
  }
  const state = agreement.state === AgreementState.CONFLICT ? 'conflict' : 'collecting';
  return `${name}: gate shut, ${state}`;
}

function partialLines({ partialReason }: Agreement): string[] {
  return partialReason === '' ? [] : [`  partial: ${onOneLine(partialReason)}`];
}

function reasonLines(agreement: Agreement): string[] {
  return agreement.reasons.map(({ text }) => text.replace(/^/gm, '  '));
}

/** The same order as on the aggregator's page. */
function byUrgency({ member: a }: Worker, { member: b }: Worker): number {
  const rank = STATE_ORDER.indexOf(a?.state ?? 0) - STATE_ORDER.indexOf(b?.state ?? 0);
  if (rank !== 0) return rank;
  const offer = (a?.offer ?? 0) - (b?.offer ?? 0);
  if (offer !== 0) return offer;
  return (a?.target ?? '') < (b?.target ?? '') ? -1 : 1;
}

function tableOf(workers: readonly Worker[], columns: number | undefined): string {
  if (workers.length === 0) return '';
  // A column that would say the same of everybody is left out.
  const out = new Set<string>(workers.some(({ report }) => isSplit(report)) ? [] : ['ROLE']);
  const isShown = ([title]: Column): boolean => !out.has(title);
  if (columns === undefined) return tableOfColumns(COLUMNS.filter(isShown), workers);
  out.add('WHY');
  const widths = COLUMNS.map(([title, cellOf]) =>
    workers.reduce((most, worker) => Math.max(most, textWidth(cellOf(worker))), title.length),
  );
  const width = (): number =>
    COLUMNS.reduce((sum, column, at) => sum + (isShown(column) ? (widths[at] ?? 0) + GAP : 0), -GAP);
  for (const title of SPARE_COLUMNS) if (width() > columns) out.add(title);
  const [head, ...rows] = tableOfColumns(COLUMNS.filter(isShown), workers).split('\n');
  const lines = rows.flatMap((row, at) => {
    const why = reasonOf(workers[at]);
    return why === '' ? [row] : [row, `${INDENT}${onOneLine(why)}`];
  });
  return [head, ...lines].join('\n');
}

function tableOfColumns(columns: readonly Column[], workers: readonly Worker[]): string {
  const table = plainTable(columns.map(([title]) => title));
  for (const worker of workers)
    pushRow(
      table,
      columns.map(([, cellOf]) => cellOf(worker)),
    );
  return table.toString();
}

/** A title, and what stands below it. */
type Column = readonly [title: string, cellOf: (worker: Worker) => string];

/** WHY is the last one, which is never cut. */
const COLUMNS: readonly Column[] = [
  ['WORKER', ({ member }) => member?.target ?? ''],
  ['STATE', ({ member }) => STATES[member?.state ?? 0] ?? 'unknown'],
  [
    'TOKENS/BLOCK',
    ({ member }) => (member?.tokensPerBlock === undefined ? '-' : String(member.tokensPerBlock)),
  ],
  ['FROM', ({ member }) => sourceOf(member?.source)],
  ['ENGINE', ({ report }) => engineOf(report)],
  ['ROLE', ({ report }) => roleOf(report)],
  ['GPUS', ({ report }) => gpusOf(report?.topology)],
  ['REQUESTS', ({ member }) => OFFERS[member?.offer ?? 0] ?? 'unknown'],
  ['PICTURE', ({ member }) => PICTURES[member?.picture ?? 0] ?? 'unknown'],
  ['WHY', (worker) => reasonOf(worker)],
];

/** What keeps it from requests matters more than what is known of its cache. */
function reasonOf(worker: Worker | undefined): string {
  return worker?.member?.reason || worker?.member?.pictureReason || '';
}

/** Wraps a line at spaces, with the same indent for what follows; a word that is too long is split. */
function wrapLine(line: string, columns: number): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let rest = line;
  while (textWidth(rest) > columns) {
    const most = cutToWidth(rest, columns).length;
    const space = rest.lastIndexOf(' ', most);
    const end = space > indent.length ? space : most;
    lines.push(rest.slice(0, end).trimEnd());
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest].join('\n');
}

function renderReport(report: CapabilityReport): string {
  const { contract, model, parallelism } = report;
  const table = plainTable(['FIELD', 'VALUE']);
  const state = report.engine?.state ?? EngineState.UNSPECIFIED;
  const because = report.evidence.find(({ field }) => field === 'contract.tokens_per_block');
  const rows: [string, string][] = [
    ['worker', report.workerId],
    ['instance', `${report.instanceId}, revision ${report.revision}`],
    ['engine', report.engine === undefined ? 'not told' : `${engineOf(report)}, ${engineStateName(state)}`],
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
    ['hash algorithm', contract?.hashAlgorithm ?? 'not told'],
    ['parallelism', parallelismOf(parallelism)],
    ['GPUs', gpusOf(report.topology)],
    ['digest', report.digest === '' ? '-' : report.digest],
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

/** What came of the canary, and of each path that was asked. */
function canaryRows({ canary }: CapabilityReport): [string, string][] {
  if (canary === undefined) return [];
  const word = (state: Canary_State): string => CANARY_WORDS[state] ?? 'unknown';
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

const CANARY_WORDS: Readonly<Record<number, string>> = {
  [Canary_State.WAITING]: 'waiting',
  [Canary_State.SKIPPED]: 'skipped',
  [Canary_State.PASSED]: 'passed',
  [Canary_State.INCONCLUSIVE]: 'inconclusive',
  [Canary_State.FAILED]: 'failed',
};

function sourceOf(source: EvidenceSource | undefined): string {
  return source === undefined || source === EvidenceSource.UNSPECIFIED ? '-' : evidenceSourceName(source);
}

function engineOf(report: CapabilityReport | undefined): string {
  const engine = report?.engine;
  if (engine === undefined || engine.kind === EngineKind.UNSPECIFIED) return '-';
  return `${engineKindName(engine.kind)} ${engine.version}`.trim();
}

/** Whether it computes only a part of each request. */
function isSplit(report: CapabilityReport | undefined): boolean {
  const role = report?.engine?.role ?? EngineRole.UNSPECIFIED;
  return role !== EngineRole.UNSPECIFIED && role !== EngineRole.AGGREGATED;
}

function roleOf(report: CapabilityReport | undefined): string {
  const role = report?.engine?.role;
  return role === undefined || role === EngineRole.UNSPECIFIED ? '-' : engineRoleName(role);
}

function parallelismOf(parallelism: CapabilityReport['parallelism']): string {
  const sizes: [string, number | undefined][] = [
    ['TP', parallelism?.tensorParallelSize],
    ['PP', parallelism?.pipelineParallelSize],
    ['DP', parallelism?.dataParallelSize],
  ];
  const known = sizes.flatMap(([name, size]) => (size === undefined ? [] : [`${name} ${size}`]));
  return known.length === 0 ? 'not told' : known.join(', ');
}

function gpusOf(topology: Topology | undefined): string {
  const gpus = topology?.gpus ?? [];
  if (gpus.length === 0) return '-';
  const names = [...new Set(gpus.map(({ productName }) => productName))].join(', ');
  const isUnknown = topology?.notes.some((note) => note.startsWith(UNKNOWN_SHARE)) === true;
  return `${isUnknown ? 'some of ' : ''}${gpus.length} x ${names}`;
}
