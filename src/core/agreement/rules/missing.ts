import { countOf, formFor, nameSome } from '../../text/lists.js';
import { drains } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { MISSING_WARN_INTERVAL_MS } from '../state/options.js';
import type { AgreementState, Group, Member } from '../state/state.js';
import type { Step } from '../state/step.js';

/** Whether a member neither decides nor drains, and may be of `group`: it is in it, or in none yet. */
function isMissingFrom(group: Group, member: Member): boolean {
  if (drains(member) || member.tally !== undefined || member.turnedAway !== '') return false;
  return member.group === undefined || member.group === group;
}

/** Who is missing from a group, in the order of the list. */
export function missingFrom(state: AgreementState, group: Group): Member[] {
  return [...state.members.values()].filter((member) => isMissingFrom(group, member));
}

/** A12: when the missing have had their time, as monotonic milliseconds. */
export function quorumAtMs({ options }: AgreementState, group: Group): number {
  return (group.lastJoinedMs ?? group.collectingSinceMs) + options.collectTimeoutMs;
}

/** A12: members that may have a value and have reported none. */
function silentVoters(state: AgreementState, group: Group): number {
  return group.missing + state.unassigned - state.unscheduled;
}

/**
 * A12: whether those who reported are at least half of all that may have a
 * value: then no majority can come to stand against them.
 */
function isQuorum(state: AgreementState, group: Group): boolean {
  const { deciding } = group.tallies;
  return deciding > 0 && deciding >= silentVoters(state, group);
}

/** A2, A12: whether the missing still hold the group up. */
export function waitsForMissing(state: AgreementState, group: Group, nowMs: number): boolean {
  if (state.unassigned + group.missing === 0) return false;
  const { onMissing, collectTimeoutMs } = state.options;
  switch (onMissing) {
    case 'wait':
      return true;
    case 'proceed':
      return nowMs < group.collectingSinceMs + collectTimeoutMs;
    case 'quorum':
      return nowMs < quorumAtMs(state, group) || !isQuorum(state, group);
  }
}

/** What goes on without the missing, in words that follow their names. */
export function goOnMessage(state: AgreementState, group: Group): string {
  const { onMissing, collectTimeoutMs } = state.options;
  const seconds = collectTimeoutMs / 1_000;
  switch (onMissing) {
    case 'wait':
      return '--on-missing=wait waits for all of them';
    case 'proceed':
      return `--on-missing=proceed goes on without them ${seconds} s after the first was listed`;
    case 'quorum': {
      const { deciding } = group.tallies;
      const voters = deciding + silentVoters(state, group);
      return isQuorum(state, group)
        ? `it opens without them when no other has reported for ${seconds} s`
        : `to open without them, at least half of ${countOf(voters, 'worker')} must have reported, and ${deciding} ${formFor(deciding, 'has', 'have')}`;
    }
  }
}

/** A2: every 30 s a WARN names who is missing, as long as that holds a group up. */
export function warnOfMissing(step: Step): void {
  const { state, nowMs, effects } = step;
  const holdsUp = (group: Group): boolean => group.phase.state !== 'agreed' && group.members.size > 0;
  const groups = [...state.groups.values()];
  const waiting =
    (state.unassigned > 0 && (groups.length === 0 || groups.some(holdsUp))) ||
    groups.some((group) => holdsUp(group) && group.missing > 0);
  if (!waiting) {
    state.warnMissingAtMs = undefined;
    return;
  }
  state.warnMissingAtMs ??= nowMs + MISSING_WARN_INTERVAL_MS;
  if (nowMs < state.warnMissingAtMs) return;
  state.warnMissingAtMs = nowMs + MISSING_WARN_INTERVAL_MS;
  const missing = [...state.members.values()].filter(
    (member) =>
      !drains(member) &&
      member.tally === undefined &&
      member.turnedAway === '' &&
      (member.group === undefined || holdsUp(member.group)),
  );
  const named = missing.map((member) => `${memberName(member)} (${member.problem})`);
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'waiting_for_workers',
    group: '',
    message:
      `Still waiting for ${missing.length} of ${countOf(state.members.size, 'worker')}: ${nameSome(named)}. ` +
      FLAG_MESSAGES[state.options.onMissing],
  });
}

/** The flag that would go on without the missing. */
const FLAG_MESSAGES = {
  wait: 'To go on without them, set --on-missing=quorum or --on-missing=proceed.',
  quorum:
    'A model opens without them once at least half of its workers have reported; to go on with fewer, set --on-missing=proceed.',
  proceed: 'To wait for fewer seconds, set --collect-timeout.',
} as const;

/** A12: notes who is missing when an epoch begins, and says so. */
export function noteMissing(step: Step, group: Group): void {
  const { state, effects } = step;
  group.awaited = new Set(missingFrom(state, group));
  if (group.awaited.size === 0) return;
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'partial',
    group: group.name,
    message: `${partialMessage(group)}. Who reports later is compared with what is agreed.`,
  });
}

/** A12: a partial epoch is whole once each of them has reported, drains, or has left. */
export function forgetReported(step: Step, group: Group): void {
  const { state, effects } = step;
  if (group.awaited.size === 0) return;
  for (const member of group.awaited) {
    const isListed = state.members.get(member.target) === member;
    if (!isListed || !isMissingFrom(group, member)) group.awaited.delete(member);
  }
  if (group.awaited.size > 0) return;
  effects.push({
    type: 'log',
    level: 'info',
    code: 'partial_over',
    group: group.name,
    message: `Nobody is missing from "${group.name}" any more: all have reported, drain, or have left.`,
  });
}

/** Who is missing from a partial epoch. By name, so that the order of the list does not show. */
export function partialMessage(group: Group): string {
  const missing = [...group.awaited].sort((a, b) => (a.target < b.target ? -1 : 1));
  const named = nameSome(missing.map((member) => `${memberName(member)} (${member.problem})`));
  return `"${group.name}" is open without ${countOf(missing.length, 'worker')} that had not reported: ${named}`;
}
