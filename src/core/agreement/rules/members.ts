import type { WorkerReport } from '../../contract/worker-report.js';
import { PairBook } from '../../pairs/pair-book.js';
import { pairMemberOf } from '../../pairs/pair-member.js';
import { CacheKnowledgeCounts } from '../state/cache-knowledge-counts.js';
import type { AgreementEffect } from '../state/events.js';
import { comparedFields, contradictsItself, decides, drains } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { MAX_GROUPS, MAX_MODEL_CHANGES, MODEL_CHANGE_WINDOW_MS } from '../state/options.js';
import type { AgreementState, Group, Member } from '../state/state.js';
import type { Step } from '../state/step.js';
import { Tallies } from '../state/tally.js';
import { countCacheKnowledge } from './routing.js';

/** A8, G5, V3: everything that is held for its present instance is to be dropped; said once. */
export function forget(member: Member, effects: AgreementEffect[]): void {
  const { group, target, held } = member;
  if (held === '') return;
  member.held = '';
  effects.push({ type: 'forget_instance', group: group?.name ?? '', target, instanceId: held });
}

/** Takes a member out of the counts, before it changes. What is known of its cache is counted again afterwards, or ends when it leaves. */
export function uncount(state: AgreementState, member: Member): void {
  const { group } = member;
  if (member.tally !== undefined && group !== undefined) {
    group.tallies.remove(member.tally);
    member.tally = undefined;
    if (contradictsItself(member, state.options)) group.contradicting -= 1;
  } else if (!drains(member)) {
    if (group === undefined) countUnassigned(state, member, -1);
    else group.missing -= 1;
  }
}

function countUnassigned(state: AgreementState, { unscheduled, turnedAway }: Member, by: 1 | -1): void {
  // A member that is turned away has reported, and delays no decision.
  if (turnedAway !== '') return;
  state.unassigned += by;
  if (unscheduled) state.unscheduled += by;
}

/** Puts it back into the counts, after it has changed. */
export function recount(state: AgreementState, member: Member): void {
  const { group, report } = member;
  if (group !== undefined && report !== undefined && decides(member)) {
    const key = state.options.topology === 'require' ? report.topologyKey : report.contractKey;
    const isRehashing = group.tallies.isRehashing && report.values.block_rehash !== undefined;
    member.tally = group.tallies.add(
      isRehashing ? `${key} rehash` : key,
      report.values,
      report.serving.role === 'decode',
    );
    if (contradictsItself(member, state.options)) group.contradicting += 1;
  } else if (!drains(member)) {
    if (group === undefined) countUnassigned(state, member, 1);
    else group.missing += 1;
  }
  if (group !== undefined) notePairs(group, member);
  countCacheKnowledge(state, member);
  if (group === undefined) return;
  if (report?.misreadEvents === undefined) group.misreading.delete(member);
  else group.misreading.add(member);
  for (const other of group.misreading) countCacheKnowledge(state, other);
}

/** A prefill or decode worker is one of the pairs of its group while it decides. */
function notePairs({ pairs }: Group, member: Member): void {
  const { target, report } = member;
  const pairMember = report !== undefined && decides(member) ? pairMemberOf(target, report) : undefined;
  if (pairMember === undefined) pairs.deleteMember(target);
  else pairs.setMember(pairMember);
}

/** Moves an uncounted member to the group that its report names; an empty name is no group. */
export function assign(step: Step, member: Member, name: string): void {
  const { state, nowMs, effects } = step;
  noteModel(member, name, nowMs);
  if (member.group?.name === name && member.turnedAway === '') return;
  // Who names nothing in between does not come back by it.
  if (name === '' && member.turnedAway !== '') return;
  leave(member, nowMs);
  admit(state, member);
  if (name === '') return;
  if (member.modelChanges.count > MAX_MODEL_CHANGES) {
    const seconds = MODEL_CHANGE_WINDOW_MS / 1_000;
    const why = `it has named another model more than ${MAX_MODEL_CHANGES} times within ${seconds} s: it is left out until it keeps one for ${seconds} s`;
    turnAway(state, member, why, nowMs + MODEL_CHANGE_WINDOW_MS);
    const message = `Worker ${memberName(member)}: ${why}.`;
    // Once, and not for each of the names that follow.
    if (member.modelChanges.count === MAX_MODEL_CHANGES + 1)
      effects.push({
        type: 'log',
        level: 'error',
        code: 'model_changes',
        group: '',
        worker: member.target,
        message,
      });
    return;
  }
  const group = state.groups.get(name) ?? openGroup(step, name, member);
  if (group === undefined) return;
  group.members.set(member.target, member);
  group.emptySinceMs = undefined;
  // The earliest listing counts, whichever member reports first (A11).
  group.collectingSinceMs = Math.min(group.collectingSinceMs, member.listedAtMs);
  member.group = group;
}

/** Counts how often a member names another model. */
function noteModel(member: Member, name: string, nowMs: number): void {
  if (name === '' || name === member.model) return;
  const isFirst = member.model === '';
  member.model = name;
  if (isFirst) return;
  const { sinceMs, count } = member.modelChanges;
  const isOver = nowMs - sinceMs >= MODEL_CHANGE_WINDOW_MS;
  member.modelChanges = isOver ? { sinceMs: nowMs, count: 1 } : { sinceMs, count: count + 1 };
  // Who goes on while it is turned away begins to wait again.
  if (member.turnedAway !== '' && !isOver) member.modelChanges = { sinceMs: nowMs, count: count + 1 };
}

function turnAway(state: AgreementState, member: Member, why: string, untilMs: number | undefined): void {
  member.turnedAway = why;
  member.turnedAwayUntilMs = untilMs;
  state.turnedAway.add(member);
}

/** Ends that a member is turned away, where it is. */
export function admit(state: AgreementState, member: Member): void {
  member.turnedAway = '';
  member.turnedAwayUntilMs = undefined;
  state.turnedAway.delete(member);
}

/** Tries those again that were turned away: who has kept one model, and, where groups have ended, who found no room. */
export function retryTurnedAway(step: Step): void {
  const { state, nowMs } = step;
  for (const member of [...state.turnedAway]) {
    const { turnedAwayUntilMs } = member;
    const isDue =
      turnedAwayUntilMs === undefined ? state.groups.size < MAX_GROUPS : turnedAwayUntilMs <= nowMs;
    if (!isDue) continue;
    uncount(state, member);
    if (turnedAwayUntilMs !== undefined) member.modelChanges = { sinceMs: nowMs, count: 0 };
    assign(step, member, member.model);
    recount(state, member);
    state.version += 1;
  }
}

/** Takes an uncounted member out of its group. */
export function leave(member: Member, nowMs: number): void {
  const { group } = member;
  if (group === undefined) return;
  group.members.delete(member.target);
  group.pairs.deleteMember(member.target);
  group.cacheKnowledge.set(member, undefined);
  group.misreading.delete(member);
  if (group.members.size === 0) group.emptySinceMs = nowMs;
  member.group = undefined;
}

function openGroup(step: Step, name: string, member: Member): Group | undefined {
  const { state, effects } = step;
  if (state.groups.size >= MAX_GROUPS) {
    const why = `its model is one of more than ${MAX_GROUPS} that this fleet names: it is left out until another one ends`;
    turnAway(state, member, why, undefined);
    effects.push({
      type: 'log',
      level: 'error',
      code: 'too_many_groups',
      group: name,
      worker: member.target,
      message: `Workers name more than ${MAX_GROUPS} models; those that serve "${name}" are left out until another model ends.`,
    });
    return undefined;
  }
  const group: Group = {
    name,
    members: new Map(),
    tallies: new Tallies(comparedFields(state.options), state.options.blockSizePolicy),
    pairs: new PairBook({ policy: state.options.pairPolicy }),
    cacheKnowledge: new CacheKnowledgeCounts(),
    misreading: new Set(),
    phase: { state: 'collecting' },
    partnersVersion: 0,
    mode: 'closed',
    missing: 0,
    contradicting: 0,
    candidate: undefined,
    collectingSinceMs: member.listedAtMs,
    lastJoinedMs: undefined,
    awaited: new Set(),
    emptySinceMs: undefined,
  };
  state.groups.set(name, group);
  return group;
}

/** R5: whether a report is older than what is held; equal means that it is held already. */
export function compareRevision(
  held: WorkerReport | undefined,
  report: WorkerReport,
): 'newer' | 'same' | 'older' {
  if (held === undefined || held.instanceId !== report.instanceId) return 'newer';
  if (report.revision === held.revision) return 'same';
  return report.revision > held.revision ? 'newer' : 'older';
}
