import { EvidenceSource } from '../contract/enums.js';
import { isTokensPerBlock } from '../contract/tokens-per-block.js';
import type { WorkerReport } from '../contract/worker-report.js';
import { clip, joinSome } from '../text/lists.js';
import { earliestDeadlineMs } from './deadlines.js';
import { type AgreementEffect, type AgreementEvent, isOtherIdentity } from './events.js';
import { judgeMember } from './judge-member.js';
import { conforms, drains } from './judgement.js';
import { memberName } from './member-name.js';
import {
  admit,
  assign,
  compareRevision,
  forget,
  leave,
  recount,
  retryTurnedAway,
  uncount,
} from './members.js';
import { MAX_MEMBER_CHARS } from './messages.js';
import { warnOfMissing } from './missing.js';
import { withSeenWidth } from './observed.js';
import { endEpoch, evaluate, followLateFields, judgeMembers } from './phase.js';
import { countCacheKnowledge, updateMode } from './routing.js';
import type { AgreementState, Group, Member } from './state.js';

/**
 * The agreement: what a fleet agrees on when `event` happens at `nowMs`
 * (monotonic milliseconds). Deterministic, with no clock and no I/O of its
 * own. The state belongs to the caller and is changed in place, because a copy
 * of ten thousand members for each event would cost more than the agreement.
 *
 * Call it with a `tick` when `state.dueAtMs` comes. A tick that is due runs
 * before any other event, so that an event that overtakes the caller's timer
 * finds what it would have found after it.
 */
export function reduce(state: AgreementState, event: AgreementEvent, nowMs: number): AgreementEffect[] {
  const effects: AgreementEffect[] = [];
  const isOverdue = state.dueAtMs !== undefined && state.dueAtMs <= nowMs;
  if (isOverdue || event.type === 'tick') tick(state, nowMs, effects);
  apply(state, event, nowMs, effects);
  state.dueAtMs = earliestDeadlineMs(state, event.type === 'tick' ? 'tick' : 'another event');
  return effects;
}

function apply(
  state: AgreementState,
  event: AgreementEvent,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  switch (event.type) {
    case 'listed':
      list(state, event, nowMs, effects);
      break;
    case 'report':
      report(state, event.target, event.report, nowMs, effects);
      break;
    case 'report_refused':
      refuse(state, event.target, event.problems, nowMs, effects);
      break;
    case 'alive':
      alive(state, event.target, nowMs, effects);
      break;
    case 'broken':
      broken(state, event.target, event.reason, nowMs, effects);
      break;
    case 'picture':
      takeCacheView(state, event, effects);
      break;
    case 'doubt':
      doubt(state, event, effects);
      break;
    case 'ejection':
      ejection(state, event);
      break;
    case 'mismatched_events':
      mismatchedEvents(state, event, nowMs, effects);
      break;
    case 'tick':
      break;
  }
}

function list(
  state: AgreementState,
  { members: listed, expected }: AgreementEvent & { type: 'listed' },
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const identities = new Map(listed.map(({ target, identity }) => [target, identity]));
  if (expected?.count !== state.expected?.count || expected?.origin !== state.expected?.origin) {
    state.expected = expected;
    state.version += 1;
  }
  for (const member of [...state.members.values()]) {
    const { target } = member;
    // A8: who comes under the name of one that is gone is another member, and has said nothing yet.
    const isAnother = isOtherIdentity(member.identity, identities.get(target));
    if (!identities.has(target) || isAnother) remove(state, member, nowMs, effects);
  }
  for (const { target, draining, identity, unscheduled = false } of listed) {
    const member = state.members.get(target);
    if (member !== undefined) member.identity ??= identity;
    if (member === undefined) {
      const added: Member = {
        target,
        identity,
        listedAtMs: nowMs,
        listedDraining: draining,
        unscheduled,
        received: undefined,
        report: undefined,
        seen: undefined,
        problem: 'has not reported yet',
        lostSinceMs: undefined,
        expired: false,
        tally: undefined,
        model: '',
        modelChanges: { sinceMs: nowMs, count: 0 },
        turnedAway: '',
        turnedAwayUntilMs: undefined,
        group: undefined,
        cacheView: undefined,
        doubt: undefined,
        ejection: '',
        held: '',
        dissentLoggedFor: '',
        mismatchLoggedFor: '',
        remarkLoggedFor: '',
        tokensLoggedFor: '',
        eventsLoggedFor: '',
        rehashLoggedFor: '',
        usableInstance: '',
      };
      state.members.set(target, added);
      state.lastNewMemberMs = nowMs;
      recount(state, added);
      state.version += 1;
    } else if (member.listedDraining !== draining || member.unscheduled !== unscheduled) {
      change(state, member, () => {
        member.listedDraining = draining;
        member.unscheduled = unscheduled;
      });
    }
  }
  evaluateAll(state, nowMs, effects);
}

function remove(state: AgreementState, member: Member, nowMs: number, effects: AgreementEffect[]): void {
  uncount(state, member);
  forget(member, effects);
  state.lost.delete(member);
  const { group } = member;
  leave(member, nowMs);
  for (const other of group?.misreading ?? []) countCacheKnowledge(state, other);
  admit(state, member);
  state.members.delete(member.target);
  state.version += 1;
}

/** Changes a member with its counts kept right. */
function change(state: AgreementState, member: Member, apply: () => void): void {
  uncount(state, member);
  apply();
  recount(state, member);
  state.version += 1;
}

function report(
  state: AgreementState,
  target: string,
  received: WorkerReport,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined) return; // a session that outlived its listing
  const age = compareRevision(member.report, received);
  // The first word after a break is what the sidecar says now, also when its revision went back with the clock
  // of its machine: only within one session can a report be late (R5).
  const isNewSession = member.expired || member.lostSinceMs !== undefined;
  if (age !== 'newer' && !isNewSession) return;

  const held = member.report;
  const before = member.group;
  const isFirst = received.usable && member.usableInstance === '';
  change(state, member, () => {
    revive(state, member, effects);
    if (held?.instanceId !== received.instanceId) {
      forget(member, effects);
      member.held = received.instanceId;
    }
    if (received.usable) takeInstance(member, received, effects);
    member.received = received;
    member.report = withSeenWidth(received, member.seen);
    member.problem = received.usable ? '' : joinSome(received.reasons, MAX_MEMBER_CHARS);
    assign(state, member, received.group === '' ? (before?.name ?? '') : received.group, nowMs, effects);
    if (isFirst && member.group !== undefined) member.group.lastJoinedMs = nowMs;
  });
  // Its last member serves another model now, and does not come back: there is nothing to wait for.
  if (before !== undefined && before !== member.group && before.members.size === 0) {
    endGroup(state, before, effects);
    retryTurnedAway(state, nowMs, effects);
  }
  // First what most make of the probes now: no member is blamed by what is over.
  if (member.group !== undefined && followLateFields(state, member.group))
    judgeMembers(state, member.group, effects);
  else judgeMember(state, member, effects);
  settleGroups(state, before, member.group, nowMs, effects);
}

/** A8: a new instance is judged as a late joiner; the first one is no restart. */
function takeInstance(member: Member, { instanceId }: WorkerReport, effects: AgreementEffect[]): void {
  const { usableInstance, target, group } = member;
  member.usableInstance = instanceId;
  if (usableInstance === '' || usableInstance === instanceId) return;
  effects.push({
    type: 'log',
    level: 'info',
    code: 'instance_replaced',
    group: group?.name ?? '',
    worker: target,
    message: `The engine of worker ${memberName(member)} was restarted (instance ${usableInstance} is now ${instanceId}).`,
  });
}

function refuse(
  state: AgreementState,
  target: string,
  problems: readonly string[],
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined) return;
  const problem = `its report is refused: ${joinSome(problems, MAX_MEMBER_CHARS)}`;
  if (member.problem === problem) return;
  const name = memberName(member);
  change(state, member, () => {
    forget(member, effects);
    state.lost.delete(member);
    member.lostSinceMs = undefined;
    member.expired = false;
    member.received = undefined;
    member.report = undefined;
    member.problem = problem;
  });
  effects.push({
    type: 'log',
    level: 'error',
    code: 'report_refused',
    group: member.group?.name ?? '',
    worker: target,
    message: `Worker ${name}: ${problem}.`,
  });
  settleGroups(state, member.group, member.group, nowMs, effects);
}

function alive(state: AgreementState, target: string, nowMs: number, effects: AgreementEffect[]): void {
  const member = state.members.get(target);
  if (member === undefined || (member.lostSinceMs === undefined && !member.expired)) return;
  change(state, member, () => revive(state, member, effects));
  judgeMember(state, member, effects);
  settleGroups(state, member.group, member.group, nowMs, effects);
}

/**
 * Whether news of `instanceId` is of no use, because the
 * present instance has already had news. What comes before the first
 * report of its instance is kept for it.
 */
function isOutdated(
  member: Member,
  held: { readonly instanceId: string } | undefined,
  instanceId: string,
): boolean {
  const present = member.report?.instanceId;
  return instanceId !== present && held !== undefined && held.instanceId === present;
}

function takeCacheView(
  state: AgreementState,
  { target, instanceId, picture: known, reason: fullReason }: AgreementEvent & { type: 'picture' },
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined || isOutdated(member, member.cacheView, instanceId)) return;
  const reason = known === 'exact' ? '' : clip(fullReason, MAX_MEMBER_CHARS);
  const held = member.cacheView;
  if (held?.instanceId === instanceId && held.level === known && held.reason === reason) return;
  change(state, member, () => {
    member.cacheView = { instanceId, level: known, reason };
  });
  if (member.group !== undefined) updateMode(state, member.group, effects);
}

function doubt(
  state: AgreementState,
  { target, instanceId, reason: fullReason }: AgreementEvent & { type: 'doubt' },
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined || isOutdated(member, member.doubt, instanceId)) return;
  const reason = clip(fullReason, MAX_MEMBER_CHARS);
  const held = member.doubt;
  if (
    reason === ''
      ? held?.instanceId !== instanceId
      : held?.instanceId === instanceId && held.reason === reason
  )
    return;
  change(state, member, () => {
    member.doubt = reason === '' ? undefined : { instanceId, reason };
  });
  if (member.group !== undefined) updateMode(state, member.group, effects);
}

function ejection(
  state: AgreementState,
  { target, reason: fullReason }: AgreementEvent & { type: 'ejection' },
): void {
  const member = state.members.get(target);
  const reason = clip(fullReason, MAX_MEMBER_CHARS);
  if (member === undefined || member.ejection === reason) return;
  change(state, member, () => {
    member.ejection = reason;
  });
}

function mismatchedEvents(
  state: AgreementState,
  { target, instanceId, tokensPerBlock, count }: AgreementEvent & { type: 'mismatched_events' },
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined) return;
  if (member.group !== undefined) {
    const source = EvidenceSource.OBSERVED_EVENT;
    const { workerId = '' } = member.report ?? {};
    effects.push({ type: 'mismatch', group: member.group.name, worker: target, workerId, source, count });
  }
  // A width that no engine can have is counted, and agrees with no member (R1).
  if (!isTokensPerBlock(tokensPerBlock) || isOutdated(member, member.seen, instanceId)) return;
  const { seen, received, group } = member;
  if (seen?.instanceId === instanceId && seen.tokensPerBlock === tokensPerBlock) return;
  change(state, member, () => {
    member.seen = { instanceId, tokensPerBlock };
    if (received !== undefined) member.report = withSeenWidth(received, member.seen);
  });
  // The events themselves were counted above: the instance is not counted once more.
  const isCounted = member.tally !== undefined && !conforms(state, member);
  if (isCounted && member.report?.instanceId === instanceId) member.dissentLoggedFor = instanceId;
  judgeMember(state, member, effects);
  settleGroups(state, group, group, nowMs, effects);
}

/** G5: the same instance goes on as before. */
function revive(state: AgreementState, member: Member, effects: AgreementEffect[]): void {
  if (member.lostSinceMs === undefined && !member.expired) return;
  state.lost.delete(member);
  member.lostSinceMs = undefined;
  member.expired = false;
  member.problem =
    member.report?.usable === true ? '' : joinSome(member.report?.reasons ?? [], MAX_MEMBER_CHARS);
  effects.push({
    type: 'log',
    level: 'info',
    code: 'worker_back',
    group: member.group?.name ?? '',
    worker: member.target,
    message: `The sidecar of worker ${memberName(member)} is back.`,
  });
}

function broken(
  state: AgreementState,
  target: string,
  reason: string,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const member = state.members.get(target);
  if (member === undefined) return;
  if (member.report === undefined || member.lostSinceMs !== undefined || member.expired) {
    if (member.problem !== reason) {
      member.problem = reason;
      state.version += 1;
    }
    return;
  }
  change(state, member, () => {
    member.lostSinceMs = nowMs;
    member.problem = reason;
  });
  state.lost.add(member);
  const graceSeconds = state.options.graceMs / 1_000;
  effects.push({
    type: 'log',
    // One that had said that it drains ends as it should.
    level: drains(member) ? 'info' : 'warn',
    code: 'worker_lost',
    group: member.group?.name ?? '',
    worker: target,
    message: `The sidecar of worker ${memberName(member)} is lost: ${reason}. Its last report stands for ${graceSeconds} s.`,
  });
  if (member.group !== undefined) updateMode(state, member.group, effects);
}

function tick(state: AgreementState, nowMs: number, effects: AgreementEffect[]): void {
  state.tickedAtMs = nowMs;
  for (const member of state.lost) {
    if (member.lostSinceMs === undefined || nowMs < member.lostSinceMs + state.options.graceMs) break;
    change(state, member, () => {
      state.lost.delete(member);
      member.lostSinceMs = undefined;
      member.expired = true;
      forget(member, effects);
    });
  }
  for (const group of [...state.groups.values()]) {
    if (group.emptySinceMs === undefined || nowMs < group.emptySinceMs + state.options.graceMs) continue;
    endGroup(state, group, effects);
  }
  retryTurnedAway(state, nowMs, effects);
  evaluateAll(state, nowMs, effects);
}

/** Ends a group that has no members. */
function endGroup(state: AgreementState, group: Group, effects: AgreementEffect[]): void {
  endEpoch(state, group, effects);
  updateMode(state, group, effects);
  state.groups.delete(group.name);
  state.version += 1;
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'group_ended',
    group: group.name,
    message: `Nobody serves "${group.name}" any more.`,
  });
  effects.push({ type: 'group_ended', group: group.name });
}

/** Evaluates what a change of one member can have touched. */
function settleGroups(
  state: AgreementState,
  before: Group | undefined,
  after: Group | undefined,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  // Who gains or loses a group, or drains without one, holds up, or no longer holds up, all groups that collect
  // (A2, A10); and under `auto` every report counts for all of them (A1).
  if (before !== after || after === undefined || state.options.minWorkers === 'auto') {
    evaluateAll(state, nowMs, effects);
    return;
  }
  if (after !== undefined) evaluate(state, after, nowMs, effects);
  warnOfMissing(state, nowMs, effects);
}

function evaluateAll(state: AgreementState, nowMs: number, effects: AgreementEffect[]): void {
  for (const group of state.groups.values()) evaluate(state, group, nowMs, effects);
  warnOfMissing(state, nowMs, effects);
}
