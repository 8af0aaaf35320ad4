import type { ContractValues } from '../../contract/contract-values.js';
import type { CacheView } from '../../contract/wire/cache-view.js';
import type { WorkerReport } from '../../contract/worker-report.js';
import type { PairBook } from '../../pairs/pair-book.js';
import type { CacheKnowledgeCounts, RoutingMode } from './cache-knowledge-counts.js';
import type { ExpectedMembers } from './events.js';
import type { SeenWidth } from './observed.js';
import type { AgreementOptions } from './options.js';
import type { Tallies, Tally } from './tally.js';

/** One worker that discovery lists. Changed in place by the reducer alone. */
export interface Member {
  readonly target: string;
  /** Distinguishes it from another one that had its name before; undefined while discovery has not said. */
  identity: string | undefined;
  readonly listedAtMs: number;
  /** Discovery says that it is being taken away (A10); its sidecar may say so as well. */
  listedDraining: boolean;
  /** Discovery says that no machine runs it (A12). */
  unscheduled: boolean;
  /** The last report that was accepted; kept while the session is broken, because the sidecar may resume without repeating it. */
  received: WorkerReport | undefined;
  /** The same, with the width that its live KV events have in place of what it says (V1). */
  report: WorkerReport | undefined;
  /** The width of the events that the index did not apply; undefined while there were none. */
  seen: SeenWidth | undefined;
  /** The instance that last reported something usable; empty while none has. What a sidecar says before its engine is up is of no instance. */
  usableInstance: string;
  /** Why there is no usable report; empty when there is one. */
  problem: string;
  /** When the session broke; undefined while it stands. */
  lostSinceMs: number | undefined;
  /** True once the grace time of a lost member is over: its report no longer counts (G5). */
  expired: boolean;
  /** Where it is counted; undefined while it does not decide. */
  tally: Tally | undefined;
  /** The model that it last named; empty while it has named none. */
  model: string;
  /** How often it has named another one, and since when that is counted. */
  modelChanges: { readonly sinceMs: number; readonly count: number };
  /** Why it is in no group although it names a model, in words; empty while it is not turned away. Then it neither decides nor delays. */
  turnedAway: string;
  /** When it is taken again if it keeps its model; undefined while a group has to end first. */
  turnedAwayUntilMs: number | undefined;
  /** The group that it is counted in; undefined while no report names its model. */
  group: Group | undefined;
  /** What the index of the running epoch last said of one instance of it; undefined until it has said something. */
  cacheView: { readonly instanceId: string; readonly level: CacheView; readonly reason: string } | undefined;
  /** Why the results of one instance of it contradict its cache view in the running epoch; undefined while they do not. */
  doubt: { readonly instanceId: string; readonly reason: string } | undefined;
  /** Why a router gives it no requests at present; empty while it does. */
  ejection: string;
  /** The instance that an index may hold entries of; empty once they were to be dropped. */
  held: string;
  /** The instance about which dissent was already said (A7: one ERROR per instance). */
  dissentLoggedFor: string;
  /** The instance whose events were already said to have another width (V3: one ERROR per instance). */
  mismatchLoggedFor: string;
  /** The instance about which a different topology, or a declaration that contradicts the engine, was already said. */
  remarkLoggedFor: string;
  /** The instance of which it was already said that it has no partner (P5). */
  noPartnerLoggedFor: string;
  /** The instance whose other tokens were already warned of (A13). */
  tokensLoggedFor: string;
  /** The instance of which it was already said that its blocks are re-hashed, and into which size (A15). */
  rehashLoggedFor: string;
  /** The instance whose events were already warned to be read elsewhere than its engine says (V6). */
  eventsLoggedFor: string;
}

/** Where a group stands. One discriminant, one setter in `rules/phase.ts`. */
export type Phase =
  | { readonly state: 'collecting' }
  | {
      readonly state: 'conflict';
      /** What the workers differ in; another one is another conflict. */
      readonly substance: string;
      /** Who stands where. */
      readonly valueGroups: string;
      /** Who stood where when it was last logged. */
      readonly loggedValueGroups: string;
      /** When it is to be logged once more, because others have joined since; undefined while it need not be. */
      readonly repeatAtMs: number | undefined;
      /** Whether it was logged once more. */
      readonly isRepeated: boolean;
    }
  | {
      readonly state: 'agreed';
      readonly epoch: number;
      readonly values: ContractValues;
      readonly isOverride: boolean;
    };

/** The workers that serve one model. */
export interface Group {
  readonly name: string;
  readonly members: Map<string, Member>;
  readonly tallies: Tallies;
  /** Its prefill and decode workers that decide, and what is known of their pairs. */
  readonly pairs: PairBook;
  /** Its offered members by how much is known of their caches (G7). */
  readonly cacheKnowledge: CacheKnowledgeCounts<Member>;
  phase: Phase;
  /** What the partners of its members were counted by; see `PairBook.partnersVersion`. */
  partnersVersion: number;
  /** Members whose events are read elsewhere than their engines say (V6): whose events these are changes with other members. */
  readonly misreading: Set<Member>;
  /** G7, as last logged. */
  mode: RoutingMode;
  /** Members that neither decide nor drain: no usable report. */
  missing: number;
  /** Deciding members whose declaration contradicts their engine (V5). */
  contradicting: number;
  /** A9: another contract that a majority holds, and since when. */
  candidate: { readonly key: string; readonly sinceMs: number } | undefined;
  /** A2: since when its members are being collected. */
  collectingSinceMs: number;
  /** A12: when the last of its members reported something usable for the first time; undefined while none has. */
  lastJoinedMs: number | undefined;
  /** A12: who was missing when the epoch began, and has not reported since: while there are some, the epoch is partial. */
  awaited: Set<Member>;
  /** Since when it has no members; undefined while it has some. */
  emptySinceMs: number | undefined;
}

/** A whole fleet. Owned by the caller of the reducer, changed by the reducer alone. */
export interface AgreementState {
  readonly options: AgreementOptions;
  readonly members: Map<string, Member>;
  readonly groups: Map<string, Group>;
  /** Members with no group that do not drain: they hold up every group that collects. */
  unassigned: number;
  /** Those of them that the platform has no machine for (A12). */
  unscheduled: number;
  /** A1 under `auto`: what discovery last expected; undefined while it has not said. */
  expected: ExpectedMembers | undefined;
  /** Why the list of discovery is empty or old; undefined where nothing is wrong with it. */
  discoveryProblem: string | undefined;
  /** When discovery last listed a new worker; undefined before the first listing. */
  lastNewMemberMs: number | undefined;
  /** Lost members, longest lost first: the grace time is the same for all, so the order holds. */
  readonly lost: Set<Member>;
  /** Members that were turned away, in the order in which they are tried again. */
  readonly turnedAway: Set<Member>;
  /** When the next WARN about missing workers is due; undefined while none is missing. */
  warnMissingAtMs: number | undefined;
  /** When the last tick ran: what fell due until then is carried out. */
  tickedAtMs: number;
  /** When the next tick is due, maybe in the past; undefined while nothing waits for time to pass. */
  dueAtMs: number | undefined;
  /** Epochs begun so far, in all groups. */
  epochs: number;
  /** Grows with every change that a reader of a snapshot could see. */
  version: number;
}

/** A fleet that discovery has not listed yet. */
export function createAgreement(options: AgreementOptions): AgreementState {
  return {
    options,
    members: new Map(),
    groups: new Map(),
    unassigned: 0,
    unscheduled: 0,
    expected: undefined,
    discoveryProblem: undefined,
    lastNewMemberMs: undefined,
    lost: new Set(),
    turnedAway: new Set(),
    warnMissingAtMs: undefined,
    tickedAtMs: Number.NEGATIVE_INFINITY,
    dueAtMs: undefined,
    epochs: 0,
    version: 0,
  };
}
