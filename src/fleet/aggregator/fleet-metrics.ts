import type { Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { RoutingMode } from '../../core/agreement/cache-knowledge-counts.js';
import type { AgreementEffect } from '../../core/agreement/events.js';
import type { FleetView, MemberState, ReasonCode } from '../../core/agreement/snapshot.js';
import { evidenceSourceName } from '../../core/contract/names.js';
import type { PairLookup } from '../../core/pairs/pair-lookup.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { SourceHealth } from '../discovery/source.js';
import type { FleetFault } from './fleet-runner.js';
import { MissedGroups, type MissedGroupsOptions } from './missed-groups.js';
import { countInexact, countMembers, WORKER_COUNTS } from './worker-counts.js';

const AGREEMENT_STATES = ['collecting', 'agreed', 'conflict'] as const;
const ROUTING_MODES: readonly RoutingMode[] = ['closed', 'exact', 'mixed', 'approximate', 'load_only'];
const MEMBER_STATES: readonly MemberState[] = [
  'discovered',
  'incomplete',
  'reported',
  'conforming',
  'verified',
  'dissenting',
  'draining',
  'lost',
];

/** All of them, by the compiler's word. */
const REASONS: Readonly<Record<ReasonCode, true>> = {
  no_workers: true,
  waiting_for_workers: true,
  below_min_workers: true,
  settling: true,
  conflict: true,
  no_worker_offered: true,
  waiting_for_role: true,
  no_pair: true,
};
const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];

/** Engines take from seconds (tests) to tens of minutes (large models) until they report. */
const AGREEMENT_BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

/** The label of members that no report has put into a group yet. */
const NO_GROUP = '';

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
 * The fleet's metrics, with the names of the contract. Gauges are read off the
 * prepared view at each scrape, so that series of what has left are gone. The
 * few by which an outage shows stay: see `MissedGroups`.
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
    new Counter({
      name: 'kv_accord_fleet_faults_total',
      help: 'Faults of this program on the state of the fleet, which were contained.',
      labelNames: ['part'],
      registers,
      collect() {
        this.reset();
        for (const [part, count] of Object.entries(faults())) this.inc({ part }, count);
      },
    });
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
    const gauge = <Label extends string>(
      name: string,
      help: string,
      labelNames: readonly Label[],
      fill: (self: Gauge<Label>, view: FleetView) => void,
    ): Gauge<Label> =>
      new Gauge<Label>({
        name: `kv_accord_${name}`,
        help,
        labelNames: [...labelNames],
        registers,
        collect() {
          this.reset();
          fill(this as unknown as Gauge<Label>, view());
        },
      });
    gauge('gate_open', 'Whether the gate of a group is open.', ['group'], (self, fleet) => {
      for (const { group, gateOpen } of fleet.groups) self.set({ group }, Number(gateOpen));
      for (const group of missed.missingIn(fleet)) self.set({ group }, 0);
    });
    gauge(
      'routing_mode',
      'The routing mode of a group: 1 for the one it is in.',
      ['group', 'mode'],
      (self, { groups }) => {
        for (const { group, routingMode } of groups) {
          for (const mode of ROUTING_MODES) self.set({ group, mode }, Number(mode === routingMode));
        }
      },
    );
    gauge(
      'group_inexact_workers',
      'Workers of a group that get requests and whose cache view is not exact; engines that have published nothing yet are not counted.',
      ['group'],
      (self, { groups }) => {
        for (const { group, members } of groups) self.set({ group }, countInexact(members));
      },
    );
    gauge(
      'pairs',
      'Pairs of prefill and decode workers of a group by state; none of a group whose workers all serve whole requests.',
      ['group', 'state'],
      (self, { groups }) => {
        for (const { group } of groups) {
          const lookup = pairs(group);
          if (lookup === undefined || lookup.prefillCount + lookup.decodeCount === 0) continue;
          for (const [state, count] of Object.entries(lookup.counts)) self.set({ group, state }, count);
        }
      },
    );
    gauge(
      'agreement_state',
      'The state of a group: 1 for the one it is in.',
      ['group', 'state'],
      (self, { groups }) => {
        for (const { group, state } of groups) {
          for (const name of AGREEMENT_STATES) self.set({ group, state: name }, Number(name === state));
        }
      },
    );
    gauge(
      'agreed_tokens_per_block',
      'The agreed KV block size; no series while nothing is agreed.',
      ['group'],
      (self, { groups }) => {
        for (const { group, values } of groups) {
          if (typeof values?.tokens_per_block === 'number') self.set({ group }, values.tokens_per_block);
        }
      },
    );
    gauge(
      'epoch',
      'The running epoch of a group, 0 before the first agreement.',
      ['group'],
      (self, { groups }) => {
        for (const { group, epoch } of groups) self.set({ group }, epoch);
      },
    );
    gauge('workers', 'Members of a group by state.', ['group', 'state'], (self, { groups, unassigned }) => {
      for (const { group, members } of [...groups, { group: NO_GROUP, members: unassigned }]) {
        const counts = new Map<MemberState, number>();
        for (const { state } of members) counts.set(state, (counts.get(state) ?? 0) + 1);
        for (const state of MEMBER_STATES) self.set({ group, state }, counts.get(state) ?? 0);
      }
    });
    gauge(
      'group_workers',
      'Workers of a group by what the group has of them; all 0 where a model that should be served has none.',
      ['group', 'state'],
      (self, fleet) => {
        const set = (group: string, counts: ReturnType<typeof countMembers>): void => {
          for (const state of WORKER_COUNTS) self.set({ group, state }, counts.get(state) ?? 0);
        };
        for (const { group, members } of fleet.groups) set(group, countMembers(members, true));
        for (const group of missed.missingIn(fleet)) set(group, countMembers([], true));
        set(NO_GROUP, countMembers(fleet.unassigned, false));
      },
    );
    gauge(
      'expected_workers',
      'Workers that there are to be, by --min-workers: in each group, or with auto in all of them together.',
      ['group'],
      (self, { groups, expectedWorkers }) => {
        if (expectedWorkers === undefined) return;
        const { count, of } = expectedWorkers;
        if (of === 'fleet') self.set({ group: NO_GROUP }, count);
        else for (const { group } of groups) self.set({ group }, count);
      },
    );
    gauge(
      'agreement_partial',
      'Whether a group opened without workers that still have not reported.',
      ['group'],
      (self, { groups }) => {
        for (const { group, partialReason } of groups) self.set({ group }, Number(partialReason !== ''));
      },
    );
    gauge(
      'not_ready_reasons',
      'Why the answer is no: 1 for each reason that holds, 0 for the others.',
      ['group', 'reason'],
      (self, fleet) => {
        const set = (group: string, codes: readonly ReasonCode[]): void => {
          for (const reason of REASON_CODES) self.set({ group, reason }, Number(codes.includes(reason)));
        };
        for (const { group, reasons } of [...fleet.groups, { group: NO_GROUP, reasons: fleet.reasons }]) {
          set(
            group,
            reasons.map(({ code }) => code),
          );
        }
        for (const group of missed.missingIn(fleet)) set(group, ['no_workers']);
      },
    );
    gauge(
      'discovery_up',
      'Whether the last round of a source of discovery went well; 0 while its last list stays.',
      ['source'],
      (self) => {
        for (const { name: source, isUp } of sources()) self.set({ source }, Number(isUp));
      },
    );
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
