import { andMore, countOf, formFor } from '../../../core/text/lists.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import type { Clue, ProposedFix } from '../diagnosis.js';
import { alignFixes } from '../fixes/align-block-size.js';
import { sizeChecks } from '../fixes/confirm.js';
import type { SignalSum } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';

/** Decisions from which on it is no chance that a worker gets none. */
const MANY_DECISIONS = 50;
/** Workers that are named one by one. */
const MAX_NAMED = 3;

/** A part of the fleet is rejected because its card differs. */
export const workersRejected: Cause = {
  id: 'workers_rejected',
  concerns: ({ router }) => router,
  contradictedBy: servedAfterAll,
  suspect(measurements: Measurements): Suspicion | undefined {
    const rejected = measurements.signal('workers_rejected');
    const cluesFor: readonly ClueFor[] = [
      ...when(rejected, ({ byWorker, values, count, first }) =>
        clueFor(
          'proof',
          `The frontend rejected ${namesOf(byWorker)}: checksums of the cards ${[...values.keys()].join(', ') || 'differ'}. The line comes ${formFor(count, 'once', `${count} times here`)} and does not say what differs.`,
          first,
        ),
      ),
      ...idleWorkers(measurements),
    ];
    if (cluesFor.length === 0) return undefined;
    const sizes = workerSizes(measurements);
    const differing = sizes.length > 1 ? `; workers have block sizes of ${sizes.join(' and ')} tokens` : '';
    return {
      headline:
        rejected === undefined
          ? 'Some workers get no requests: the frontend may have rejected them'
          : `Workers rejected: the frontend refuses ${namesOf(rejected.byWorker)}, whose card differs from the first one's${differing}`,
      explanation:
        'A frontend keeps the configuration of the first worker that it accepts and rejects all whose card has another checksum, by the block size or anything else. Requests go on being served, by fewer workers; /health goes on listing the rejected ones. Which of them wins is a matter of arrival.',
      cluesFor,
      cluesAgainst: allServe(measurements),
      explains: ['uneven_decisions'],
      fixes: fixesFor(measurements, sizes),
    };
  },
};

function namesOf(byWorker: ReadonlyMap<string, number>): string {
  const names = [...byWorker.keys()].filter((name) => name !== '').sort();
  if (names.length === 0) return 'a worker';
  return names.length > MAX_NAMED
    ? `${names.slice(0, MAX_NAMED).join(', ')}${andMore(names.length - MAX_NAMED, 'workers')}`
    : `${formFor(names.length, 'worker')} ${names.join(', ')}`;
}

/** Workers that came and never got a request although there were many. */
function idleWorkers({ signal, decisions }: Measurements): readonly ClueFor[] {
  const added = signal('worker_added');
  if (added === undefined || decisions === undefined || decisions.count < MANY_DECISIONS) return [];
  const known = [...added.byWorker.keys()].filter((name) => name !== '');
  const served = known.filter((name) => decisions.byWorker.has(name));
  const idle = known.filter((name) => !decisions.byWorker.has(name));
  // Names of two kinds (hex and decimal) cannot be compared with each other.
  if (served.length === 0 || idle.length === 0 || signal('worker_removed') !== undefined) return [];
  return [
    clueFor(
      'sign',
      `${countOf(decisions.count, 'decision')} went to ${served.length} of ${known.length} workers; ${idle.slice(0, MAX_NAMED).join(', ')} got none.`,
      decisions.origin,
      'uneven_decisions',
    ),
  ];
}

/** A worker that got requests was not refused, whatever its line says; ids are written in hex and in decimal. */
function servedAfterAll({ signal, decisions }: Measurements): readonly Clue[] {
  const names = [...(signal('workers_rejected')?.byWorker.keys() ?? [])].filter((name) => name !== '');
  const isServed = (name: string): boolean =>
    decisions?.byWorker.has(name) === true ||
    (/^[0-9a-f]{1,16}$/.test(name) && decisions?.byWorker.has(String(BigInt(`0x${name}`))) === true);
  return when(names.length > 0 && names.every(isServed) && decisions, ({ origin }) => ({
    says: `Requests go to ${names.slice(0, MAX_NAMED).join(', ')}.`,
    origin,
  }));
}

/** Workers that left after the last rejection: the change that caused it may be over. */
function allServe({ signal }: Measurements): readonly ClueAgainst[] {
  const removed = signal('worker_removed');
  const rejected = signal('workers_rejected');
  if (removed === undefined || rejected === undefined) return [];
  const isLater = lastMsOf(removed) > lastMsOf(rejected);
  return [
    clueAgainst(
      isLater ? 'refutes' : 'noted',
      `${countOf(removed.count, 'worker')} left in the same log${isLater ? ', the last of them after the last rejection' : ''}. During a rolling change each new worker is rejected until the last old one is gone, and is accepted then: look at whether it is over.`,
      removed.first,
    ),
  ];
}

/** Beginning of the last time span in which there was one; before all others without times. */
function lastMsOf({ logs }: SignalSum): number {
  return Math.max(
    Number.NEGATIVE_INFINITY,
    ...logs.map(({ tally: { rate } }) => {
      const last = rate.counts.findLastIndex((count) => count > 0);
      return rate.startMs === undefined || last === -1
        ? Number.NEGATIVE_INFINITY
        : rate.startMs + last * rate.bucketMs;
    }),
  );
}

function workerSizes({ sizes }: Measurements): readonly number[] {
  const workers = sizes.rows.filter(({ side }) => side === 'worker');
  return [...new Set(workers.map(({ tokensPerBlock }) => tokensPerBlock))].sort((a, b) => a - b);
}

function fixesFor(measurements: Measurements, sizes: readonly number[]): readonly ProposedFix[] {
  const [smallest, ...others] = sizes;
  const frontend = measurements.sizes.rows.find(
    ({ side, basis }) => side === 'frontend' && basis === 'in_use',
  );
  const wanted = frontend?.tokensPerBlock ?? (others.length === 0 ? undefined : smallest);
  const compare: ProposedFix = {
    says: 'Compare the cards of the accepted and the rejected worker: kubectl get dynamoworkermetadatas -o json',
    why: 'The checksum covers more than the block size: model path, tokenizer, context length, runtime settings. It changes nothing.',
    disturbs: 'nothing',
    files: [],
    commands: [
      "kubectl get dynamoworkermetadatas -o json | jq -c '.items[].spec' | sort -u    # or the files below $DYN_FILE_KV/v1/mdc",
    ],
    verify: [
      'kubectl logs FRONTEND | grep "Rejected incompatible workers"    # no new line after the change',
    ],
  };
  if (wanted === undefined || others.length === 0) return [compare];
  const [worker, ...rest] = alignFixes(measurements, { engines: wanted, side: 'worker', isWorkersOwn: true });
  return worker === undefined
    ? [compare]
    : [{ ...worker, verify: [...sizeChecks(measurements, wanted), ...compare.verify] }, compare, ...rest];
}
