import type { ContractValues } from '../../contract/contract-values.js';
import { firstDifference } from '../../contract/contract-values.js';
import { countOf } from '../../text/lists.js';
import { conflictMessage, contradictionsMessage } from '../messages/messages.js';
import type { AgreementEffect } from '../state/events.js';
import { comparedFields, conforms, contradictingMembers } from '../state/judgement.js';
import { isObserved } from '../state/observed.js';
import type { AgreementState, Group, Phase } from '../state/state.js';
import type { Step } from '../state/step.js';
import type { CommonContract } from '../state/tally.js';
import { countDissent, judgeMember, remarkRehash } from './judge-member.js';
import { forgetReported, noteMissing, quorumAtMs, waitsForMissing } from './missing.js';
import { pairNeed } from './pair-gate.js';
import { countCacheKnowledge, updateMode } from './routing.js';

/** The one setter of where a group stands. */
function enter(state: AgreementState, group: Group, phase: Phase): void {
  group.phase = phase;
  state.version += 1;
}

/** A1–A6: what a group that runs no epoch has come to. */
type Decision =
  | { readonly state: 'collecting' }
  | {
      readonly state: 'conflict';
      /** What they differ in. */
      readonly substance: string;
      /** Who stands where. */
      readonly valueGroups: string;
      readonly message: () => string;
    }
  | { readonly state: 'agreed'; readonly values: ContractValues; readonly isOverride: boolean };

/** A3: when the list of workers will have stood still long enough. */
export function settledAtMs(state: AgreementState): number {
  const { isStaticDiscovery, settleMs } = state.options;
  return isStaticDiscovery || state.lastNewMemberMs === undefined ? 0 : state.lastNewMemberMs + settleMs;
}

/** A1: how many reports there are of those that must be there first. */
export function reportsAsked(
  state: AgreementState,
  group: Group,
  nowMs: number,
): { readonly reported: number; readonly asked: number } {
  const { minWorkers, onMissing } = state.options;
  if (minWorkers !== 'auto') return { reported: group.tallies.deciding, asked: minWorkers };
  // Until discovery has answered, it is not known how many are enough; that none are expected agrees on nothing.
  const expected = state.expected?.count ?? Number.POSITIVE_INFINITY;
  const isHalfEnough = onMissing === 'quorum' && nowMs >= quorumAtMs(state, group);
  const asked = Math.max(1, isHalfEnough ? Math.ceil((expected - state.unscheduled) / 2) : expected);
  // The reports of other groups count, and yet agree on nothing for this one.
  if (group.tallies.deciding === 0) return { reported: 0, asked };
  let reported = 0;
  for (const { tallies } of state.groups.values()) reported += tallies.deciding;
  return { reported, asked };
}

function decide(state: AgreementState, group: Group, nowMs: number): Decision {
  const { options } = state;
  const { tallies } = group;
  const { reported, asked } = reportsAsked(state, group, nowMs);
  const enough = reported >= asked;
  if (options.overrideTokensPerBlock !== undefined) {
    if (!enough) return { state: 'collecting' };
    const ofPairs = decideByPairs(state, group);
    if (ofPairs !== undefined) return ofPairs;
    return {
      state: 'agreed',
      values: { tokens_per_block: options.overrideTokensPerBlock },
      isOverride: true,
    };
  }
  if (group.contradicting > 0) {
    const members = contradictingMembers(group, options);
    const substance = JSON.stringify(
      members.map(({ target, report }) => [target, report?.declared, report?.contractKey]),
    );
    return {
      state: 'conflict',
      substance,
      valueGroups: substance,
      message: () => contradictionsMessage(members, group.name),
    };
  }
  const { values, difference } = tallies.union();
  if (difference !== undefined) {
    const distinct = tallies.distinct();
    return {
      state: 'conflict',
      substance: JSON.stringify(distinct.map(({ key }) => key)),
      valueGroups: JSON.stringify(distinct.map(({ key, count }) => [key, count])),
      message: () => conflictMessage(group, difference),
    };
  }
  if (!enough || waitsForMissing(state, group, nowMs) || nowMs < settledAtMs(state))
    return { state: 'collecting' };
  return decideByPairs(state, group) ?? { state: 'agreed', values, isOverride: false };
}

/** P3: what stands against opening the gate of a group that splits requests; undefined when nothing does. */
function decideByPairs(state: AgreementState, group: Group): Decision | undefined {
  const need = pairNeed(state, group);
  switch (need.state) {
    case 'served':
      return undefined;
    case 'waiting':
      return { state: 'collecting' };
    case 'incompatible': {
      const { substance, message } = need;
      return { state: 'conflict', substance, valueGroups: substance, message };
    }
  }
}

/** Brings a group to where its members' reports say that it should be. */
export function evaluate(step: Step, group: Group): void {
  const { state } = step;
  if (group.phase.state === 'agreed') {
    const isOther = followPartners(state, group);
    if (followLateFields(state, group) || isOther) judgeMembers(step, group);
    watchForChange(step, group);
  }
  if (group.phase.state !== 'agreed') comeToAgree(step, group);
  forgetReported(step, group);
  updateMode(step, group);
}

/** P5: counts members again when others came or went that they could go with; true when that may be so. */
function followPartners(state: AgreementState, group: Group): boolean {
  if (group.partnersVersion === group.pairs.partnersVersion) return false;
  group.partnersVersion = group.pairs.partnersVersion;
  for (const member of group.members.values()) countCacheKnowledge(state, member);
  state.version += 1;
  return true;
}

/** A13: brings a running epoch up to what most members make of the probes; true when members stand otherwise now. */
export function followLateFields(state: AgreementState, group: Group): boolean {
  if (group.phase.state !== 'agreed' || !group.tallies.followLateFields()) return false;
  for (const member of group.members.values()) countCacheKnowledge(state, member);
  state.version += 1;
  return true;
}

function comeToAgree(step: Step, group: Group): void {
  const { state, nowMs, effects } = step;
  const decision = decide(state, group, nowMs);
  const before = group.phase;
  switch (decision.state) {
    case 'collecting':
      if (before.state === 'conflict') {
        conflictOver(group, effects);
        enter(state, group, { state: 'collecting' });
      }
      return;
    case 'conflict':
      logConflict(step, group, decision);
      return;
    case 'agreed': {
      if (before.state === 'conflict') conflictOver(group, effects);
      const size = decision.values.tokens_per_block;
      const message = decision.isOverride
        ? `Using KV block size ${size} (from the explicit override)`
        : `Auto-configured KV block size to ${size} (from worker reports)`;
      startEpoch(step, group, decision.values, decision.isOverride);
      effects.push({ type: 'log', level: 'info', code: 'agreed', group: group.name, message });
      if (!decision.isOverride) noteMissing(step, group);
      remarkRehashed(step, group);
      judgeMembers(step, group);
      return;
    }
  }
}

/**
 * A4: an ERROR for every new set of values, and one more for each once the
 * workers have stood still for the settle time, because the first is written
 * when two have spoken and does not name who joined them.
 */
function logConflict(step: Step, group: Group, decision: Decision & { readonly state: 'conflict' }): void {
  const { state, nowMs, effects } = step;
  const { substance, valueGroups } = decision;
  const log = (isRepeated: boolean): void => {
    enter(state, group, {
      state: 'conflict',
      substance,
      valueGroups,
      loggedValueGroups: valueGroups,
      repeatAtMs: undefined,
      isRepeated,
    });
    const message = decision.message();
    effects.push({ type: 'log', level: 'error', code: 'conflict', group: group.name, message });
  };
  const { phase } = group;
  if (phase.state !== 'conflict' || phase.substance !== substance) {
    log(false);
    return;
  }
  if (phase.isRepeated) return;
  let { repeatAtMs } = phase;
  if (phase.valueGroups !== valueGroups) {
    repeatAtMs = valueGroups === phase.loggedValueGroups ? undefined : nowMs + state.options.settleMs;
    group.phase = { ...phase, valueGroups, repeatAtMs };
  }
  if (repeatAtMs !== undefined && nowMs >= repeatAtMs) log(true);
}

function conflictOver(group: Group, effects: AgreementEffect[]): void {
  effects.push({
    type: 'log',
    level: 'info',
    code: 'conflict_over',
    group: group.name,
    message: `The workers of "${group.name}" no longer disagree.`,
  });
}

/** G2: the epoch is announced exactly once, after agreement, and before the gate opens. */
function startEpoch(step: Step, group: Group, values: ContractValues, isOverride: boolean): void {
  const { state, nowMs, effects } = step;
  if (group.phase.state === 'agreed') {
    effects.push({ type: 'gate', group: group.name, open: false });
    effects.push({ type: 'epoch_ended', group: group.name, epoch: group.phase.epoch });
  }
  state.epochs += 1;
  const epoch = state.epochs;
  group.tallies.setReference(values);
  group.candidate = undefined;
  enter(state, group, { state: 'agreed', epoch, values, isOverride });
  resetKnowledge(state, group);
  const collectedForMs = nowMs - group.collectingSinceMs;
  effects.push({ type: 'epoch_started', group: group.name, epoch, values, isOverride, collectedForMs });
  effects.push({ type: 'gate', group: group.name, open: true });
}

/** Cache views belong to the index of one epoch; who is offered belongs to its contract. */
function resetKnowledge(state: AgreementState, group: Group): void {
  for (const member of group.members.values()) {
    member.cacheView = undefined;
    member.doubt = undefined;
    countCacheKnowledge(state, member);
  }
}

/** Ends a group's epoch and shuts its gate. */
export function endEpoch(step: Step, group: Group): void {
  const { state, effects } = step;
  if (group.phase.state !== 'agreed') return;
  effects.push({ type: 'gate', group: group.name, open: false });
  effects.push({ type: 'epoch_ended', group: group.name, epoch: group.phase.epoch });
  group.tallies.setReference(undefined);
  group.candidate = undefined;
  group.awaited.clear();
  enter(state, group, { state: 'collecting' });
  resetKnowledge(state, group);
}

/** A9: starts, keeps or ends the watch over another contract that a majority holds. */
function watchForChange(step: Step, group: Group): void {
  const { state, nowMs } = step;
  const { phase } = group;
  if (phase.state !== 'agreed' || phase.isOverride) return;
  if (group.contradicting * 2 > group.tallies.deciding) {
    if (!hasLasted(state, group, CONTRADICTION, nowMs)) return;
    // V5: no other value would help. What there is to fix is said as it is before agreement.
    endEpoch(step, group);
    return;
  }
  const all = state.options.onChange === 'refuse' ? undefined : group.tallies.allAgainst();
  const other = all ?? group.tallies.majorityAgainst();
  // Where all follow there is no member to wait for.
  const holdouts = all === undefined ? group.tallies.deciding - group.tallies.dissenting : 0;
  if (other === undefined || (state.options.onChange === 'wait-all' && holdouts > 0)) {
    group.candidate = undefined;
    return;
  }
  if (!hasLasted(state, group, other.key, nowMs)) return;
  changeEpoch(step, group, phase.values, other, all !== undefined);
}

/** The candidate of a majority whose declarations contradict their engines (V5); no contract has this key. */
const CONTRADICTION = 'contradiction';

/** Whether what stands against the epoch has stood there for the settle time. */
function hasLasted(state: AgreementState, group: Group, key: string, nowMs: number): boolean {
  if (group.candidate?.key !== key) group.candidate = { key, sinceMs: nowMs };
  return nowMs - group.candidate.sinceMs >= state.options.settleMs;
}

function changeEpoch(
  step: Step,
  group: Group,
  old: ContractValues,
  other: CommonContract,
  isForAll: boolean,
): void {
  const { state, effects } = step;
  const fields = comparedFields(state.options);
  const field = firstDifference(old, other.values, fields) ?? 'tokens_per_block';
  const counts = `${other.count} of ${countOf(group.tallies.deciding, 'worker')}`;
  const change = `${field} of "${group.name}" changed from ${old[field]} to ${other.values[field]} (${counts})`;
  if (state.options.onChange === 'refuse') {
    const message = `The ${change}, and --on-change=refuse forbids it.`;
    group.candidate = undefined;
    effects.push({ type: 'log', level: 'error', code: 'change_refused', group: group.name, message });
    effects.push({ type: 'refuse', group: group.name, message });
    return;
  }
  startEpoch(step, group, other.values, false);
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'new_epoch',
    group: group.name,
    message: isForAll
      ? `The ${change}: a new epoch has begun, and the blocks of all workers are re-hashed into this size.`
      : `The ${change}: a new epoch has begun, and workers with the old value are left out until they follow.`,
  });
  remarkRehashed(step, group);
  for (const member of group.members.values()) {
    if (conforms(state, member)) {
      judgeMember(step, member);
      continue;
    }
    // The WARN above speaks for all that still hold the old value: no ERROR for each.
    countDissent(step, group, member);
    if (member.report !== undefined && isObserved(member.report))
      member.mismatchLoggedFor = member.report.instanceId;
  }
}

/** A15: says together which members' blocks are re-hashed in an epoch that has just begun. */
function remarkRehashed(step: Step, group: Group): void {
  const { state, effects } = step;
  const members = [...group.members.values()].filter((member) => conforms(state, member));
  remarkRehash(group, members, effects);
}

/** Says of every member once per instance what is wrong with it in the running epoch. */
export function judgeMembers(step: Step, group: Group): void {
  for (const member of group.members.values()) judgeMember(step, member);
}
