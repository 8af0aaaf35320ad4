import type { FleetSnapshot } from '../../../app/fleet-snapshot.js';
import { evidenceSourceName } from '../../../core/contract/wire/names.js';
import { onOneLine } from '../../../core/text/printable.js';
import { textWidth } from '../../../core/text/text-width.js';
import { workerName } from '../../../core/text/worker-name.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import { EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import {
  type Agreement,
  AgreementState,
  type Member,
  MemberOffer,
  MemberState,
  type Worker,
} from '../../../gen/kvaccord/v1/fleet.js';
import { wrapLine } from '../../shared/wrap-line.js';
import { CACHE_VIEW_TITLE, cacheViewText } from './cache-view-cell.js';
import { engineOf, gpusOf, isSplit, roleOf } from './report-cells.js';
import { renderReport } from './report-table.js';

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
const SPARE_COLUMNS: readonly string[] = ['GPUS', 'FROM', 'ENGINE', 'ROLE', CACHE_VIEW_TITLE, 'TOKENS/BLOCK'];

/** Spaces between two columns. */
const GAP = 2;

/** Before a reason that stands below its worker. */
const INDENT = '    ';

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
  if (isEjected(a) !== isEjected(b)) return isEjected(a) ? -1 : 1;
  const rank = STATE_ORDER.indexOf(a?.state ?? 0) - STATE_ORDER.indexOf(b?.state ?? 0);
  if (rank !== 0) return rank;
  const offer = (a?.offer ?? 0) - (b?.offer ?? 0);
  if (offer !== 0) return offer;
  return nameOf(a) < nameOf(b) ? -1 : 1;
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
  ['WORKER', ({ member }) => nameOf(member)],
  ['STATE', ({ member }) => stateOf(member)],
  ['TOKENS/BLOCK', ({ member }) => sizeOf(member)],
  ['FROM', ({ member }) => sourceOf(member?.source)],
  ['ENGINE', ({ report }) => engineOf(report)],
  ['ROLE', ({ report }) => roleOf(report)],
  ['GPUS', ({ report }) => gpusOf(report?.topology)],
  ['REQUESTS', ({ member }) => requestsOf(member)],
  [CACHE_VIEW_TITLE, ({ member }) => cacheViewText(member?.picture ?? 0)],
  ['WHY', (worker) => reasonOf(worker)],
];

/** What keeps it from requests matters more than what is known of its cache. */
function reasonOf(worker: Worker | undefined): string {
  const { member } = worker ?? {};
  return member?.ejectedReason || member?.reason || member?.pictureReason || '';
}

function nameOf(member: Member | undefined): string {
  return member === undefined ? '' : workerName(member);
}

/** What the router does with it matters more than what it reports. */
function stateOf(member: Member | undefined): string {
  if (isEjected(member)) return 'ejected';
  return STATES[member?.state ?? 0] ?? 'unknown';
}

function requestsOf(member: Member | undefined): string {
  if (isEjected(member)) return 'tries';
  return OFFERS[member?.offer ?? 0] ?? 'unknown';
}

function isEjected(member: Member | undefined): boolean {
  return (member?.ejectedReason ?? '') !== '';
}

function sourceOf(source: EvidenceSource | undefined): string {
  return source === undefined || source === EvidenceSource.UNSPECIFIED ? '-' : evidenceSourceName(source);
}

/** `32`, or `1 as 32` where blocks of 1 token are re-hashed into blocks of 32. */
function sizeOf(member: Member | undefined): string {
  const { tokensPerBlock, rehashedTokensPerBlock } = member ?? {};
  if (tokensPerBlock === undefined) return '-';
  return rehashedTokensPerBlock === undefined
    ? String(tokensPerBlock)
    : `${tokensPerBlock} as ${rehashedTokensPerBlock}`;
}
