import type { Registry } from 'prom-client';
import type { RoutingMode } from '../../../core/agreement/state/cache-knowledge-counts.js';
import type { FleetView, MemberState, ReasonCode } from '../../../core/agreement/view/snapshot.js';
import type { PairLookup } from '../../../core/pairs/pair-lookup.js';
import { type AddToSeries, ScrapedMetrics } from '../../../edge/platform/metrics/scraped-metrics.js';
import type { SourceHealth } from '../../discovery/source.js';
import type { MissedGroups } from './missed-groups.js';
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

/** The label of members that no report has put into a group yet. */
const NO_GROUP = '';

export interface FleetGaugesModules {
  readonly registry: Registry;
  /** The answers as last prepared. */
  readonly view: () => FleetView;
  /** Groups that are gone and whose outage is to show. */
  readonly missed: MissedGroups;
  /** The pairs of a group; undefined where no group has that name. */
  readonly pairs: (group: string) => PairLookup | undefined;
  /** The sources of discovery, each with whether its last round went well. */
  readonly sources: () => readonly SourceHealth[];
}

type AddGauge = <Label extends string>(
  name: string,
  help: string,
  labels: readonly Label[],
  read: (add: AddToSeries<Label>, fleet: FleetView) => void,
) => void;

/** What the fleet is now, read off the prepared view at each scrape, so that series of what has left are gone. */
export function registerFleetGauges(modules: FleetGaugesModules): void {
  const metrics = new ScrapedMetrics(modules.registry);
  const gauge: AddGauge = (name, help, labels, read) =>
    metrics.gauge(`kv_accord_${name}`, help, labels, (add) => read(add, modules.view()));
  registerAgreement(gauge, modules);
  registerWorkers(gauge, modules);
  gauge(
    'discovery_up',
    'Whether the last round of a source of discovery went well; 0 while its last list stays.',
    ['source'],
    (add) => {
      for (const { name: source, isUp } of modules.sources()) add({ source }, Number(isUp));
    },
  );
}

/** How far each group is, and why it is not further. */
function registerAgreement(gauge: AddGauge, { missed }: FleetGaugesModules): void {
  gauge('gate_open', 'Whether the gate of a group is open.', ['group'], (add, fleet) => {
    for (const { group, gateOpen } of fleet.groups) add({ group }, Number(gateOpen));
    for (const group of missed.missingIn(fleet)) add({ group }, 0);
  });
  gauge(
    'routing_mode',
    'The routing mode of a group: 1 for the one it is in.',
    ['group', 'mode'],
    (add, { groups }) => {
      for (const { group, routingMode } of groups) {
        for (const mode of ROUTING_MODES) add({ group, mode }, Number(mode === routingMode));
      }
    },
  );
  gauge(
    'agreement_state',
    'The state of a group: 1 for the one it is in.',
    ['group', 'state'],
    (add, { groups }) => {
      for (const { group, state } of groups) {
        for (const name of AGREEMENT_STATES) add({ group, state: name }, Number(name === state));
      }
    },
  );
  gauge(
    'agreed_tokens_per_block',
    'The agreed KV block size; no series while nothing is agreed.',
    ['group'],
    (add, { groups }) => {
      for (const { group, values } of groups) {
        if (typeof values?.tokens_per_block === 'number') add({ group }, values.tokens_per_block);
      }
    },
  );
  gauge(
    'epoch',
    'The running epoch of a group, 0 before the first agreement.',
    ['group'],
    (add, { groups }) => {
      for (const { group, epoch } of groups) add({ group }, epoch);
    },
  );
  gauge(
    'agreement_partial',
    'Whether a group opened without workers that still have not reported.',
    ['group'],
    (add, { groups }) => {
      for (const { group, partialReason } of groups) add({ group }, Number(partialReason !== ''));
    },
  );
  gauge(
    'not_ready_reasons',
    'Why the answer is no: 1 for each reason that holds, 0 for the others.',
    ['group', 'reason'],
    (add, fleet) => {
      const set = (group: string, codes: readonly ReasonCode[]): void => {
        for (const reason of REASON_CODES) add({ group, reason }, Number(codes.includes(reason)));
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
}

/** The workers of each group. */
function registerWorkers(gauge: AddGauge, { missed, pairs }: FleetGaugesModules): void {
  gauge(
    'group_inexact_workers',
    'Workers of a group that get requests and whose cache view is not exact; engines that have published nothing yet are not counted.',
    ['group'],
    (add, { groups }) => {
      for (const { group, members } of groups) add({ group }, countInexact(members));
    },
  );
  gauge(
    'pairs',
    'Pairs of prefill and decode workers of a group by state; none of a group whose workers all serve whole requests.',
    ['group', 'state'],
    (add, { groups }) => {
      for (const { group } of groups) {
        const lookup = pairs(group);
        if (lookup === undefined || lookup.prefillCount + lookup.decodeCount === 0) continue;
        for (const [state, count] of Object.entries(lookup.counts)) add({ group, state }, count);
      }
    },
  );
  gauge('workers', 'Members of a group by state.', ['group', 'state'], (add, { groups, unassigned }) => {
    for (const { group, members } of [...groups, { group: NO_GROUP, members: unassigned }]) {
      const counts = new Map<MemberState, number>();
      for (const { state } of members) counts.set(state, (counts.get(state) ?? 0) + 1);
      for (const state of MEMBER_STATES) add({ group, state }, counts.get(state) ?? 0);
    }
  });
  gauge(
    'group_workers',
    'Workers of a group by what the group has of them; all 0 where a model that should be served has none.',
    ['group', 'state'],
    (add, fleet) => {
      const set = (group: string, counts: ReturnType<typeof countMembers>): void => {
        for (const state of WORKER_COUNTS) add({ group, state }, counts.get(state) ?? 0);
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
    (add, { groups, expectedWorkers }) => {
      if (expectedWorkers === undefined) return;
      const { count, of } = expectedWorkers;
      if (of === 'fleet') add({ group: NO_GROUP }, count);
      else for (const { group } of groups) add({ group }, count);
    },
  );
}
