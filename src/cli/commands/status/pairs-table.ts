import { gigabytesPerSecond } from '../../../core/pairs/transfer-cost.js';
import { clip } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { ListPairsResponse, Pair, PairWorker } from '../../../gen/kvaccord/v1/fleet.js';
import { PairClass, PairState, pairClassToJSON, pairStateToJSON } from '../../../gen/kvaccord/v1/fleet.js';

/** Workers of each role in one matrix: more are a list. */
const MAX_IN_MATRIX = 12;

/** Rows of a list; `--json` has all. */
const MAX_ROWS = 1_000;

/** Longest reason of one row. */
const MAX_REASON_CHARS = 600;

/** What `ListPairs` gave of all pages. */
export type ListedPairs = Pick<ListPairsResponse, 'pairs' | 'counts'>;

/** The pairs of a fleet for a person: a matrix of each model, then why pairs are not used. */
export function renderPairs({ pairs, counts }: ListedPairs): string {
  if (pairs.length === 0) return 'No model has both prefill and decode workers.\n';
  const sums = [
    `${counts?.canPair ?? 0n} can pair`,
    `${counts?.cannotSay ?? 0n} cannot be said`,
    `${counts?.cannotPair ?? 0n} cannot pair`,
    `${counts?.setAside ?? 0n} set aside`,
  ];
  const groups = [...new Set(pairs.map(({ group }) => group))];
  const parts = groups.map((group) =>
    ofGroup(
      group,
      pairs.filter((pair) => pair.group === group),
    ),
  );
  return `${[...parts, `Pairs: ${sums.join(', ')}`].join('\n\n')}\n`;
}

function ofGroup(group: string, pairs: readonly Pair[]): string {
  const prefills = workersOf(pairs.map(({ prefill }) => prefill));
  const decodes = workersOf(pairs.map(({ decode }) => decode));
  const isSmall = prefills.size <= MAX_IN_MATRIX && decodes.size <= MAX_IN_MATRIX;
  const parts = isSmall ? [matrixOf(pairs, prefills, decodes)] : [];
  const listed = pairs.filter(({ state }) => !isSmall || state !== PairState.CAN_PAIR);
  return [
    `${onOneLine(group)}: ${prefills.size} prefill x ${decodes.size} decode`,
    ...parts,
    ...(listed.length === 0 ? [] : [listOf(listed)]),
  ].join('\n\n');
}

function workersOf(workers: readonly (PairWorker | undefined)[]): ReadonlyMap<string, PairWorker> {
  return new Map(workers.flatMap((worker) => (worker === undefined ? [] : [[worker.target, worker]])));
}

/** A row for each prefill worker, a column for each decode worker. */
function matrixOf(
  pairs: readonly Pair[],
  prefills: ReadonlyMap<string, PairWorker>,
  decodes: ReadonlyMap<string, PairWorker>,
): string {
  const table = plainTable(['PREFILL \\ DECODE', ...[...decodes.values()].map(nameOf)]);
  const cells = new Map(pairs.map((pair) => [`${pair.prefill?.target}\n${pair.decode?.target}`, pair]));
  for (const prefill of prefills.values()) {
    pushRow(table, [
      nameOf(prefill),
      ...[...decodes.keys()].map((decode) => cellOf(cells.get(`${prefill.target}\n${decode}`))),
    ]);
  }
  return table.toString();
}

/** `nvlink_fabric 0.05 ms/MiB`, or the state where it is not one that can pair. */
function cellOf(pair: Pair | undefined): string {
  if (pair === undefined) return '-';
  const cost = costOf(pair);
  const state = pair.state === PairState.CAN_PAIR ? '' : `${stateOf(pair)}, `;
  return `${state}${classOf(pair)}${cost === '-' ? '' : ` ${cost}`}`;
}

function listOf(pairs: readonly Pair[]): string {
  const table = plainTable(['PREFILL', 'DECODE', 'STATE', 'CLASS', 'COST', 'TRANSFERS', 'FAILED', 'WHY']);
  for (const pair of pairs.slice(0, MAX_ROWS)) {
    pushRow(table, [
      nameOf(pair.prefill),
      nameOf(pair.decode),
      stateOf(pair),
      classOf(pair),
      costOf(pair),
      String(pair.transfers),
      String(pair.failedTransfers),
      `${retryOf(pair)}${clip(onOneLine(pair.reason), MAX_REASON_CHARS)}`,
    ]);
  }
  const rest = pairs.length - MAX_ROWS;
  return rest > 0
    ? `${table.toString()}\n${rest} more: kv-accord status --pairs --json shows all`
    : table.toString();
}

function nameOf(worker: PairWorker | undefined): string {
  return onOneLine(workerName({ workerId: worker?.workerId ?? '', target: worker?.target ?? '' }));
}

/** `tried again in 40 s: `, before why; empty for a pair that is not set aside, or of an earlier aggregator. */
function retryOf({ retryAfterSeconds }: Pair): string {
  if (retryAfterSeconds === undefined) return '';
  return retryAfterSeconds === 0 ? 'tried again now: ' : `tried again in ${retryAfterSeconds} s: `;
}

/** `can_pair`, `set_aside`, …; the number of one that this version does not know. */
function stateOf({ state }: Pair): string {
  return PairState.UNSPECIFIED === state ? '-' : wordOf(pairStateToJSON(state), 'PAIR_STATE_', state);
}

function classOf({ class: pairClass }: Pair): string {
  return PairClass.UNSPECIFIED === pairClass
    ? '-'
    : wordOf(pairClassToJSON(pairClass), 'PAIR_CLASS_', pairClass);
}

function wordOf(name: string, prefix: string, value: number): string {
  return name.startsWith(prefix) ? name.slice(prefix.length).toLowerCase() : String(value);
}

/** `0.05 ms/MiB (21 GB/s)`; `-` before the first transfer that was measured. */
function costOf({ millisecondsPerMebibyte: cost }: Pair): string {
  if (cost === undefined || !(cost > 0)) return '-';
  return `${cost.toPrecision(2)} ms/MiB (${gigabytesPerSecond(cost).toPrecision(2)} GB/s)`;
}
