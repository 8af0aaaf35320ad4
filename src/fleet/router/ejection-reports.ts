import type { Registry } from 'prom-client';
import type { FleetView, MemberView } from '../../core/agreement/view/snapshot.js';
import type { EjectionChange } from '../../core/health/ejections.js';
import { type FaultKind, faultMessage } from '../../core/health/worker-fault.js';
import { countOf } from '../../core/text/lists.js';
import { workerName } from '../../core/text/worker-name.js';
import type { FleetHistory } from '../../core/view/fleet-history.js';
import type { Logger } from '../../edge/platform/logger.js';
import { ScrapedMetrics } from '../../edge/platform/metrics/scraped-metrics.js';
import { boundedWorkerLabels, WORKER_LABEL_NAMES, type WorkerLabels } from './worker-labels.js';

export interface EjectionReportsModules {
  /** Takes what pages and terminals show. */
  readonly history: FleetHistory;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly fleet: {
    readonly view: FleetView;
    /** A worker gets no requests at present, for this reason; empty: it gets requests again. */
    ejected(target: string, reason: string): void;
  };
}

/** What an operator looks at first. */
const TODO: Readonly<Record<FaultKind, string>> = {
  unreachable: 'Look whether its engine runs and its address can be reached from here.',
  closed: "Look at its engine's log for the time of the failure.",
  cut: "Look at its engine's log for the time of the failure.",
  bad_answer: 'Look whether its address is that of an engine, and not of something in front of it.',
  server_error: "Look at its engine's log for the error.",
  refused: 'Compare its address, served model name and API key with those of the others.',
  silent: 'Look whether its engine hangs: its log, its GPU; then restart it.',
  stalled: 'Look whether the process of its engine that computes hangs: its log, its GPU; then restart it.',
  timeout: 'Look at its load and whether its engine hangs; then restart it.',
};

/** What is counted of one worker. */
interface Counted {
  workerId: string;
  isEjected: boolean;
  readonly times: Map<FaultKind, number>;
}

/** Logs, counts and shows which workers the router ejects. Series begin with the first ejection of a worker and end with it. */
export class EjectionReports {
  readonly #modules: EjectionReportsModules;
  /** By group and target. */
  readonly #groups = new Map<string, Map<string, Counted>>();

  constructor(modules: EjectionReportsModules) {
    this.#modules = modules;
    const metrics = new ScrapedMetrics(modules.registry);
    const series = (): readonly Series[] => this.#series();
    metrics.counter(
      'kv_accord_router_worker_ejections_total',
      'Times that this worker was ejected because its requests failed, by what was seen last.',
      [...WORKER_LABEL_NAMES, 'seen'],
      (add) => {
        for (const { labels, counted } of series())
          for (const [seen, times] of counted.times) add({ ...labels, seen }, times);
      },
    );
    metrics.gauge(
      'kv_accord_router_worker_ejected',
      '1 while this worker is ejected: it gets no requests but a try from time to time.',
      WORKER_LABEL_NAMES,
      (add) => {
        for (const { labels, counted } of series()) add(labels, counted.isEjected ? 1 : 0);
      },
    );
  }

  /** A worker is ejected, or gets requests again. */
  report(group: string, change: EjectionChange): void {
    const { logger, fleet, history } = this.#modules;
    const { target } = change;
    const workerId = memberOf(fleet.view, group, target)?.workerId ?? '';
    const counted = this.#countedOf(group, target);
    counted.workerId = workerId;
    counted.isEjected = change.type === 'ejected';
    const worker = workerName({ workerId, target });
    const fields = { group, worker_id: workerId, worker: target };
    if (change.type === 'returned') {
      fleet.ejected(target, '');
      const text = `Worker ${worker} ${RETURNED[change.why]}.`;
      const tone = change.why === 'left' ? 'plain' : 'good';
      history.note({ kind: 'returned', tone, group, worker, target, text, todo: '' });
      logger.info(fields, text);
      return;
    }
    const { fault, failures, forMs, times } = change;
    counted.times.set(fault.kind, (counted.times.get(fault.kind) ?? 0) + 1);
    const seconds = Math.max(1, Math.round(forMs / 1_000));
    const seen = `${countOf(failures, 'failed request')}, the last time ${faultMessage(fault)}`;
    const reason = `${seen}; ejected for ${seconds} s${times > 1 ? `, the ${ordinal(times)} time in a row` : ''}`;
    fleet.ejected(target, reason);
    const text = `Worker ${worker} is ejected: ${reason}.`;
    history.note({ kind: 'ejected', tone: 'bad', group, worker, target, text, todo: TODO[fault.kind] });
    logger.warn({ ...fields, seen: fault.kind }, text);
  }

  /** The workers of a group as they are now: what is counted of others ends. */
  keepOnly(group: string, targets: ReadonlySet<string>): void {
    const counted = this.#groups.get(group);
    for (const target of counted?.keys() ?? []) if (!targets.has(target)) counted?.delete(target);
  }

  /** A group has ended: none of its workers is shown as ejected any longer. */
  end(group: string): void {
    for (const [target, { isEjected }] of this.#groups.get(group) ?? [])
      if (isEjected) this.#modules.fleet.ejected(target, '');
    this.#groups.delete(group);
  }

  #countedOf(group: string, target: string): Counted {
    let workers = this.#groups.get(group);
    if (workers === undefined) {
      workers = new Map();
      this.#groups.set(group, workers);
    }
    let counted = workers.get(target);
    if (counted === undefined) {
      counted = { workerId: '', isEjected: false, times: new Map() };
      workers.set(target, counted);
    }
    return counted;
  }

  #series(): readonly Series[] {
    const labelsOf = boundedWorkerLabels();
    return [...this.#groups].flatMap(([group, workers]) =>
      [...workers].map(([worker, counted]) => ({
        labels: labelsOf(group, counted.workerId, worker),
        counted,
      })),
    );
  }
}

/** What became of an ejected worker. */
const RETURNED = {
  answered: 'gets requests again: its try was answered',
  last: 'gets requests again: no other worker of its model gets requests',
  left: 'is not ejected any longer: it is not offered now, and begins with no failures when it is again',
} as const;

interface Series {
  readonly labels: WorkerLabels;
  readonly counted: Counted;
}

function memberOf(view: FleetView, group: string, target: string): MemberView | undefined {
  return view.groups.find((each) => each.group === group)?.members.find((member) => member.target === target);
}

function ordinal(count: number): string {
  const tens = count % 100;
  const suffix = tens >= 11 && tens <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${suffix}`;
}
