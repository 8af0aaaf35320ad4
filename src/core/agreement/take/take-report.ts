import type { WorkerReport } from '../../contract/worker-report.js';
import { joinSome } from '../../text/lists.js';
import { MAX_MEMBER_CHARS } from '../messages/messages.js';
import { judgeMember } from '../rules/judge-member.js';
import { assign, compareRevision, forget, retryTurnedAway } from '../rules/members.js';
import { followLateFields, judgeMembers } from '../rules/phase.js';
import { updateMode } from '../rules/routing.js';
import type { AgreementEffect } from '../state/events.js';
import { drains } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { withSeenWidth } from '../state/observed.js';
import type { Member } from '../state/state.js';
import type { Step } from '../state/step.js';
import { change, endGroup, settleGroups } from './settle-groups.js';

/** A sidecar reported. */
export function takeReport(step: Step, target: string, received: WorkerReport): void {
  const { state, nowMs, effects } = step;
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
    revive(step, member);
    if (held?.instanceId !== received.instanceId) {
      forget(member, effects);
      member.held = received.instanceId;
    }
    if (received.usable) takeInstance(member, received, effects);
    member.received = received;
    member.report = withSeenWidth(received, member.seen);
    member.problem = received.usable ? '' : joinSome(received.reasons, MAX_MEMBER_CHARS);
    assign(step, member, received.group === '' ? (before?.name ?? '') : received.group);
    if (isFirst && member.group !== undefined) member.group.lastJoinedMs = nowMs;
  });
  // Its last member serves another model now, and does not come back: there is nothing to wait for.
  if (before !== undefined && before !== member.group && before.members.size === 0) {
    endGroup(step, before);
    retryTurnedAway(step);
  }
  // First what most make of the probes now: no member is blamed by what is over.
  if (member.group !== undefined && followLateFields(state, member.group)) judgeMembers(step, member.group);
  else judgeMember(step, member);
  askChannels(step, member);
  settleGroups(step, before, member.group);
}

/** P2: asks what is to be known of side channels before pairs with this member may be used. */
function askChannels(step: Step, { group, target }: Member): void {
  const { state, effects } = step;
  if (group === undefined || !state.options.checksSideChannels) return;
  for (const question of group.pairs.openQuestions(target))
    effects.push({ type: 'ask_channel', group: group.name, question });
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

/** A report cannot be read or breaks a rule: the member has none. */
export function refuseReport(step: Step, target: string, problems: readonly string[]): void {
  const { state, effects } = step;
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
  settleGroups(step, member.group, member.group);
}

/** A session with a sidecar stands again. */
export function markAlive(step: Step, target: string): void {
  const { state } = step;
  const member = state.members.get(target);
  if (member === undefined || (member.lostSinceMs === undefined && !member.expired)) return;
  change(state, member, () => revive(step, member));
  judgeMember(step, member);
  askChannels(step, member);
  settleGroups(step, member.group, member.group);
}

/** G5: the same instance goes on as before. */
function revive(step: Step, member: Member): void {
  const { state, effects } = step;
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

/** A session with a sidecar broke: the last report stands for the time of grace. */
export function markBroken(step: Step, target: string, reason: string): void {
  const { state, nowMs, effects } = step;
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
  if (member.group !== undefined) updateMode(step, member.group);
}
