import type { WorkerReport } from '../contract/worker-report.js';
import type { AgreementEffect } from './events.js';
import { comparedFields, contradictsItself, decides, drains } from './judgement.js';
import { MAX_GROUPS } from './options.js';
import { countStanding } from './routing.js';
import { Standings } from './standings.js';
import type { AgreementState, Group, Member } from './state.js';
import { Tallies } from './tally.js';

/** A8, G5, V3: everything that is held for its present instance is to be dropped; said once. */
export function forget(member: Member, effects: AgreementEffect[]): void {
  const { group, target, held } = member;
  if (held === '') return;
  member.held = '';
  effects.push({ type: 'forget_instance', group: group?.name ?? '', target, instanceId: held });
}

/** Takes a member out of the counts, before it changes. Its standing is set anew afterwards, or ends when it leaves. */
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

function countUnassigned(state: AgreementState, { unscheduled }: Member, by: 1 | -1): void {
  state.unassigned += by;
  if (unscheduled) state.unscheduled += by;
}

/** Puts it back into the counts, after it has changed. */
export function recount(state: AgreementState, member: Member): void {
  const { group, report } = member;
  if (group !== undefined && report !== undefined && decides(member)) {
    const key = state.options.topology === 'require' ? report.topologyKey : report.contractKey;
    member.tally = group.tallies.add(key, report.values);
    if (contradictsItself(member, state.options)) group.contradicting += 1;
  } else if (!drains(member)) {
    if (group === undefined) countUnassigned(state, member, 1);
    else group.missing += 1;
  }
  countStanding(state, member);
}

/** Moves an uncounted member to the group that its report names; an empty name is no group. */
export function assign(
  state: AgreementState,
  member: Member,
  name: string,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  if (member.group?.name === name) return;
  leave(member, nowMs);
  if (name === '') return;
  const group = state.groups.get(name) ?? openGroup(state, name, member.listedAtMs, effects);
  if (group === undefined) {
    member.trouble = `its model is one of more than ${MAX_GROUPS} that this fleet names`;
    return;
  }
  group.members.set(member.target, member);
  group.emptySinceMs = undefined;
  // The earliest listing counts, whoever reports first (A11).
  group.collectingSinceMs = Math.min(group.collectingSinceMs, member.listedAtMs);
  member.group = group;
}

/** Takes an uncounted member out of its group. */
export function leave(member: Member, nowMs: number): void {
  const { group } = member;
  if (group === undefined) return;
  group.members.delete(member.target);
  group.standings.set(member, undefined);
  if (group.members.size === 0) group.emptySinceMs = nowMs;
  member.group = undefined;
}

function openGroup(
  state: AgreementState,
  name: string,
  sinceMs: number,
  effects: AgreementEffect[],
): Group | undefined {
  if (state.groups.size >= MAX_GROUPS) {
    effects.push({
      type: 'log',
      level: 'error',
      code: 'too_many_groups',
      group: name,
      message: `Workers name more than ${MAX_GROUPS} models; those that serve "${name}" are left out.`,
    });
    return undefined;
  }
  const group: Group = {
    name,
    members: new Map(),
    tallies: new Tallies(comparedFields(state.options)),
    standings: new Standings(),
    phase: { state: 'collecting' },
    mode: 'closed',
    missing: 0,
    contradicting: 0,
    candidate: undefined,
    collectingSinceMs: sinceMs,
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
