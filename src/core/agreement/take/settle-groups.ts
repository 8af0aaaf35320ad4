import { recount, uncount } from '../rules/members.js';
import { warnOfMissing } from '../rules/missing.js';
import { endEpoch, evaluate } from '../rules/phase.js';
import { updateMode } from '../rules/routing.js';
import type { AgreementState, Group, Member } from '../state/state.js';
import type { Step } from '../state/step.js';

/** Changes a member with its counts kept right. */
export function change(state: AgreementState, member: Member, apply: () => void): void {
  uncount(state, member);
  apply();
  recount(state, member);
  state.version += 1;
}

/** Ends a group that has no members. */
export function endGroup(step: Step, group: Group): void {
  const { state, effects } = step;
  endEpoch(step, group);
  updateMode(step, group);
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
export function settleGroups(step: Step, before: Group | undefined, after: Group | undefined): void {
  const { state } = step;
  // Who gains or loses a group, or drains without one, holds up, or no longer holds up, all groups that collect
  // (A2, A10); and under `auto` every report counts for all of them (A1).
  if (before !== after || after === undefined || state.options.minWorkers === 'auto') {
    evaluateAll(step);
    return;
  }
  if (after !== undefined) evaluate(step, after);
  warnOfMissing(step);
}

/** Evaluates every group. */
export function evaluateAll(step: Step): void {
  const { state } = step;
  for (const group of state.groups.values()) evaluate(step, group);
  warnOfMissing(step);
}
