import type { Registry } from 'prom-client';
import { Counter, Histogram } from 'prom-client';
import type { AgreementEffect } from '../../../core/agreement/state/events.js';
import type { FleetView } from '../../../core/agreement/view/snapshot.js';
import { evidenceSourceName } from '../../../core/contract/wire/names.js';
import type { PairLookup } from '../../../core/pairs/pair-lookup.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import type { SourceHealth } from '../../discovery/source.js';
import type { FleetFault } from '../fleet-runner.js';
import { registerFleetGauges } from './fleet-gauges.js';
import { MissedGroups, type MissedGroupsOptions } from './missed-groups.js';

/** Engines take from seconds (tests) to tens of minutes (large models) until they report. */
const AGREEMENT_BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

export interface FleetMetricsModules {
  readonly registry: Registry;
  readonly clock: Clock;
  /** The answers as last prepared. */
  readonly view: () => FleetView;
  /** The pairs of a group; undefined where no group has that name. */
  readonly pairs: (group: string) => PairLookup | undefined;
  /** Faults of this program that were contained, since the start. */
  readonly faults: () => Readonly<Record<FleetFault, number>>;
  /** The sources of discovery, each with whether its last round went well. */
  readonly sources: () => readonly SourceHealth[];
}

/**
 * The fleet's metrics, with the names of the contract. What is now is in `fleet-gauges.ts`; the few series by which an
 * outage shows stay: see `MissedGroups`.
 */
export class FleetMetrics {
  readonly #missed: MissedGroups;
  readonly #mismatches: Counter<'group' | 'worker_id' | 'worker' | 'source'>;
  readonly #timeToAgreement: Histogram;
  /** Groups whose first agreement was observed. */
  readonly #agreedOnce = new Set<string>();
  /** Label sets given to `#mismatches`, by worker, so that they can be taken back. */
  readonly #mismatchLabels = new Map<string, MismatchLabels[]>();

  constructor(
    options: MissedGroupsOptions,
    { registry, clock, view, pairs, faults, sources }: FleetMetricsModules,
  ) {
    const registers = [registry];
    new ScrapedMetrics(registry).counter(
      'kv_accord_fleet_faults_total',
      'Faults of this program on the state of the fleet, which were contained.',
      ['part'],
      (add) => {
        for (const [part, count] of Object.entries(faults())) add({ part }, count);
      },
    );
    const missed = new MissedGroups(options, { clock });
    this.#missed = missed;
    this.#mismatches = new Counter({
      name: 'kv_router_block_size_mismatch_total',
      help: 'Worker instances whose reports, and KV events whose width, differ from what is agreed.',
      labelNames: ['group', 'worker_id', 'worker', 'source'],
      registers,
    });
    this.#timeToAgreement = new Histogram({
      name: 'kv_accord_time_to_agreement_seconds',
      help: 'From the first listing of a member of a group to its first agreement.',
      buckets: AGREEMENT_BUCKETS_SECONDS,
      registers,
    });
    registerFleetGauges({ registry, view, missed, pairs, sources });
  }

  /** Counts what the agreement came to. */
  record(effect: AgreementEffect): void {
    switch (effect.type) {
      case 'mismatch': {
        const { group, worker, workerId } = effect;
        const labels: MismatchLabels = {
          group,
          worker_id: workerId,
          worker,
          source: evidenceSourceName(effect.source),
        };
        this.#mismatches.inc(labels, effect.count);
        const held = this.#mismatchLabels.get(worker) ?? [];
        if (held.some((entry) => isSameSeries(entry, labels))) return;
        this.#mismatchLabels.set(worker, [...held, labels]);
        return;
      }
      case 'epoch_started':
        if (this.#agreedOnce.has(effect.group)) return;
        this.#agreedOnce.add(effect.group);
        this.#timeToAgreement.observe(effect.collectedForMs / 1_000);
        return;
      case 'group_ended':
        this.#agreedOnce.delete(effect.group);
        return;
      default:
    }
  }

  /** Takes note of a new view, and takes back the counters of workers that have left and of models that have ended. */
  update(view: FleetView): void {
    this.#missed.update(view);
    if (this.#mismatchLabels.size === 0) return;
    const groups = new Set(view.groups.map(({ group }) => group));
    const present = new Set(
      [...view.groups.flatMap(({ members }) => members), ...view.unassigned].map(({ target }) => target),
    );
    for (const [worker, labels] of this.#mismatchLabels) {
      // A worker may serve one model after another, by names of its own choice.
      const kept = labels.filter(({ group }) => present.has(worker) && groups.has(group));
      for (const entry of labels) if (!kept.includes(entry)) this.#mismatches.remove(entry);
      if (kept.length === 0) this.#mismatchLabels.delete(worker);
      else this.#mismatchLabels.set(worker, kept);
    }
  }
}

/** The labels of one series of `kv_router_block_size_mismatch_total`. */
interface MismatchLabels {
  readonly group: string;
  readonly worker_id: string;
  readonly worker: string;
  readonly source: string;
}

function isSameSeries(one: MismatchLabels, other: MismatchLabels): boolean {
  return one.group === other.group && one.worker_id === other.worker_id && one.source === other.source;
}
