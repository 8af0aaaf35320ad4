import type { ContractValues } from '../../contract/contract-values.js';
import { contractDigest, unverifiedFields } from '../../contract/contract-values.js';
import type { Serving } from '../../contract/serving.js';
import type { CacheView } from '../../contract/wire/cache-view.js';
import { EvidenceSource } from '../../contract/wire/enums.js';
import { evidenceSourceName } from '../../contract/wire/names.js';
import { clip, countOf, formFor, nameSome } from '../../text/lists.js';
import { workerName } from '../../text/worker-name.js';
import { misreadMessage } from '../messages/event-source-messages.js';
import {
  conflictMessage,
  contradictionMessage,
  contradictionsMessage,
  dissentMessage,
  MAX_MEMBER_CHARS,
  MAX_REASON_CHARS,
} from '../messages/messages.js';
import { noPartnerMessage } from '../messages/pair-messages.js';
import { goOnMessage, missingFrom, partialMessage, waitsForMissing } from '../rules/missing.js';
import { pairNeed } from '../rules/pair-gate.js';
import { reportsAsked } from '../rules/phase.js';
import { cacheViewOf, modeMessage } from '../rules/routing.js';
import type { RoutingMode } from '../state/cache-knowledge-counts.js';
import type { MemberOffer } from '../state/judgement.js';
import {
  comparedFields,
  conforms,
  contradictingMembers,
  drains,
  hasNoPartner,
  offerOf,
  rehashedSize,
} from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { isObserved } from '../state/observed.js';
import type { AgreementState, Group, Member } from '../state/state.js';

/** Where a member stands, as `agreement.md` words it; `reported` until the group has agreed. */
export type MemberState =
  | 'discovered'
  | 'incomplete'
  | 'reported'
  | 'conforming'
  | 'verified'
  | 'dissenting'
  | 'draining'
  | 'lost';

/** Closed list of why the answer is no (G6); also metric labels. */
export type ReasonCode =
  | 'no_workers'
  | 'waiting_for_workers'
  | 'below_min_workers'
  | 'settling'
  | 'conflict'
  | 'no_worker_offered'
  | 'waiting_for_role'
  | 'no_pair';

/** Why the answer is no, in words that an operator can act on. */
export interface Reason {
  readonly code: ReasonCode;
  readonly text: string;
}

/** One member as others see it. */
export interface MemberView {
  readonly target: string;
  readonly workerId: string;
  readonly instanceId: string;
  readonly state: MemberState;
  readonly offer: MemberOffer;
  readonly tokensPerBlock: number | undefined;
  /** A15: the size of the blocks that its sidecar re-hashes its own into; undefined where its own are used. */
  readonly rehashedTokensPerBlock: number | undefined;
  readonly source: EvidenceSource;
  readonly reason: string;
  readonly unverifiedFields: readonly string[];
  /** V4: what it declares although its engine has another size. */
  readonly declaredTokensPerBlock: number | undefined;
  /** How much the index knows of what it holds; undefined where no index follows it. */
  readonly cacheView: CacheView | undefined;
  /** Why the cache view is not exact; empty when it is. */
  readonly cacheViewReason: string;
  /** Why the router gives it no requests at present although it is offered; empty while it is not ejected. */
  readonly ejectedReason: string;
  /** Where and under which names it serves: the same object until its report changes. Undefined before its first report. */
  readonly serving: Serving | undefined;
}

/** One group as others see it. */
export interface GroupView {
  readonly group: string;
  readonly state: 'collecting' | 'agreed' | 'conflict';
  readonly epoch: number;
  readonly gateOpen: boolean;
  /** G4: the gate is open and at least one worker can be offered. */
  readonly ready: boolean;
  readonly values: ContractValues | undefined;
  readonly digest: string;
  readonly isOverride: boolean;
  readonly routingMode: RoutingMode;
  /** Why it is that mode, in words that an operator can act on (G7). */
  readonly routingReason: string;
  readonly reasons: readonly Reason[];
  /** A12: which workers were missing when the gate opened and still is, in words; empty when none is. */
  readonly partialReason: string;
  readonly members: readonly MemberView[];
}

/** A whole fleet as others see it. */
export interface FleetView {
  readonly version: number;
  readonly groups: readonly GroupView[];
  /** Members that no report has put into a group yet. */
  readonly unassigned: readonly MemberView[];
  /** Why no group is there at all; empty when there is one. */
  readonly reasons: readonly Reason[];
  /** How many workers there are to be, in each group or in the whole fleet (A1); undefined while discovery has not said. */
  readonly expectedWorkers: { readonly count: number; readonly of: 'group' | 'fleet' } | undefined;
}

/** A prepared answer for every client that asks until the state changes: it walks all members once. */
export function viewFleet(state: AgreementState, nowMs: number): FleetView {
  const unassigned = [...state.members.values()].filter(({ group }) => group === undefined);
  return {
    version: state.version,
    // By name, so that the order in which workers reported does not show (A11).
    groups: [...state.groups.values()]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((group) => viewGroup(state, group, nowMs)),
    unassigned: unassigned.map((member) => viewMember(state, member)),
    reasons: state.groups.size === 0 ? whyNoGroup(state) : [],
    expectedWorkers: expectedWorkersOf(state),
  };
}

function expectedWorkersOf({ options, expected }: AgreementState): FleetView['expectedWorkers'] {
  const { minWorkers } = options;
  if (minWorkers !== 'auto') return { count: minWorkers, of: 'group' };
  return expected === undefined ? undefined : { count: expected.count, of: 'fleet' };
}

function whyNoGroup(state: AgreementState): Reason[] {
  if (state.members.size === 0) {
    const isExpected = state.options.minWorkers === 'auto' && (state.expected?.count ?? 0) > 0;
    const { discoveryProblem: problem } = state;
    const why = problem === undefined ? '' : `: ${problem}`;
    const text = `discovery lists no workers${why}${isExpected ? `; ${expectationText(state)}` : ''}`;
    return [{ code: 'no_workers', text }];
  }
  return [waitingFor([...state.members.values()], state.members.size)];
}

/** A1 under `auto`: `8 workers are expected (Deployment worker)`. */
function expectationText({ expected }: AgreementState): string {
  if (expected === undefined) return 'how many are expected is not known yet';
  const { count, origin } = expected;
  return `${countOf(count, 'worker')} ${formFor(count, 'is', 'are')} expected (${origin})`;
}

function waitingFor(missing: readonly Member[], total: number): Reason {
  const named = nameSome(missing.map((member) => `${memberName(member)} (${member.problem})`));
  return {
    code: 'waiting_for_workers',
    text: `waiting for ${missing.length} of ${countOf(total, 'worker')}: ${named}`,
  };
}

function viewGroup(state: AgreementState, group: Group, nowMs: number): GroupView {
  const { phase } = group;
  const members = [...group.members.values()].map((member) => viewMember(state, member));
  const offered = members.filter(({ offer }) => offer !== 'none').length;
  const agreed = phase.state === 'agreed';
  const isServed = pairNeed(state, group).state === 'served';
  // By name, so that the same fleet gives the same words (A11).
  const inexact = [...group.cacheKnowledge.inexact].sort((a, b) => (a.target < b.target ? -1 : 1));
  return {
    group: group.name,
    state: phase.state,
    epoch: agreed ? phase.epoch : 0,
    gateOpen: agreed,
    ready: agreed && offered > 0 && isServed,
    values: agreed ? phase.values : undefined,
    digest: agreed ? contractDigest(group.name, { ...group.tallies.late, ...phase.values }) : '',
    isOverride: agreed && phase.isOverride,
    routingMode: group.mode,
    routingReason: modeMessage(state, group, inexact),
    reasons: whyNot(state, group, members, offered, nowMs).map(({ code, text }) => ({
      code,
      text: clip(text, MAX_REASON_CHARS),
    })),
    partialReason: group.awaited.size === 0 ? '' : partialMessage(group),
    members,
  };
}

function whyNot(
  state: AgreementState,
  group: Group,
  members: readonly MemberView[],
  offered: number,
  nowMs: number,
): Reason[] {
  const { phase, tallies } = group;
  const need = pairNeed(state, group);
  const ofPairs: Reason[] =
    need.state === 'waiting'
      ? [{ code: need.code, text: need.text() }]
      : need.state === 'incompatible'
        ? [{ code: 'no_pair', text: need.message() }]
        : [];
  if (phase.state === 'agreed') {
    if (ofPairs.length > 0) return ofPairs;
    if (offered > 0) return [];
    const named = nameSome(
      members.map(
        (view) => `${workerName(view)} (${view.state}${view.reason === '' ? '' : `: ${view.reason}`})`,
      ),
    );
    const who =
      members.length === 0
        ? 'the group has no members'
        : `none of ${countOf(members.length, 'worker')} can be offered: ${named}`;
    return [{ code: 'no_worker_offered', text: who }];
  }
  const reasons: Reason[] = [];
  if (phase.state === 'conflict') {
    const contradicting = contradictingMembers(group, state.options);
    const field = tallies.union().difference;
    // As it was logged: a member that contradicts itself is to be fixed first (V5).
    const text =
      contradicting.length === 0 && field === undefined && need.state === 'incompatible'
        ? need.message()
        : contradicting.length > 0 || field === undefined
          ? contradictionsMessage(contradicting, group.name)
          : conflictMessage(group, field);
    reasons.push({ code: 'conflict', text });
  }
  if (waitsForMissing(state, group, nowMs)) {
    const { code, text } = waitingFor(missingFrom(state, group), state.unassigned + group.members.size);
    reasons.push({ code, text: `${text}; ${goOnMessage(state, group)}` });
  }
  const { reported, asked } = reportsAsked(state, group, nowMs);
  if (reported < asked) {
    const asks =
      state.options.minWorkers === 'auto' ? expectationText(state) : `--min-workers asks for ${asked}`;
    reasons.push({ code: 'below_min_workers', text: `${countOf(reported, 'worker')} reported, ${asks}` });
  }
  if (phase.state === 'collecting') reasons.push(...ofPairs);
  // G6: whatever else holds a gate shut is the settle time, or its tick that is due now.
  if (reasons.length === 0) {
    reasons.push({
      code: 'settling',
      text: 'the list of workers has just changed; waiting for it to settle',
    });
  }
  return reasons;
}

/** Where one member stands. */
function memberState(state: AgreementState, member: Member): MemberState {
  const { group, report } = member;
  if (drains(member)) return 'draining';
  if (member.lostSinceMs !== undefined) return 'lost';
  if (report === undefined || member.expired) return 'discovered';
  if (!report.usable || group === undefined) return 'incomplete';
  if (group.phase.state !== 'agreed') return 'reported';
  if (!conforms(state, member)) return 'dissenting';
  return isObserved(report) ? 'verified' : 'conforming';
}

function viewMember(state: AgreementState, member: Member): MemberView {
  const { group, report } = member;
  const phase = group?.phase;
  const epoch = phase?.state === 'agreed' ? phase : undefined;
  const offer = epoch === undefined ? 'none' : offerOf(state, member);
  // An index follows those alone that are offered fully.
  const cacheView = offer === 'full' ? cacheViewOf(state, member) : undefined;
  const at = memberState(state, member);
  const fields = comparedFields(state.options);
  return {
    target: member.target,
    workerId: report?.workerId ?? '',
    instanceId: report?.instanceId ?? '',
    state: at,
    offer,
    tokensPerBlock: report?.values.tokens_per_block as number | undefined,
    rehashedTokensPerBlock: offer === 'full' ? rehashedSize(member) : undefined,
    source: report?.evidence?.source ?? EvidenceSource.UNSPECIFIED,
    declaredTokensPerBlock: report?.declared?.tokensPerBlock,
    reason: clip(
      at === 'dissenting' && hasNoPartner(state, member) && group !== undefined
        ? noPartnerMessage(group, member)
        : at === 'dissenting' && epoch !== undefined
          ? dissentMessage(member, epoch, fields, state.options.mismatchedWorkers === 'load-only')
          : member.turnedAway !== ''
            ? member.turnedAway
            : member.problem === '' && report?.declared !== undefined
              ? contradictionMessage(member)
              : member.problem === '' && group !== undefined && report?.misreadEvents !== undefined
                ? misreadMessage(group, member)
                : member.problem,
      MAX_MEMBER_CHARS,
    ),
    cacheView: cacheView?.level,
    cacheViewReason: cacheView?.reason ?? '',
    ejectedReason: member.ejection,
    serving: report?.serving,
    unverifiedFields:
      epoch === undefined || group === undefined || report === undefined
        ? []
        : unverifiedFields(report.values, group.tallies.reference, fields),
  };
}

/** Where a member's size came from, as people read it; empty when it reported none. */
export function sourceText(view: MemberView): string {
  return view.source === EvidenceSource.UNSPECIFIED ? '' : evidenceSourceName(view.source);
}
