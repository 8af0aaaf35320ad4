import type { ContractValues } from '../contract/contract-values.js';
import { firstDifference, TOPOLOGY_FIELDS } from '../contract/contract-values.js';
import { EvidenceSource } from '../contract/enums.js';
import type { WorkerReport } from '../contract/worker-report.js';
import type { AgreementEffect } from './events.js';
import { comparedFields, contradictsItself, decides } from './members.js';
import type { AgreementState, Group, Member, Phase } from './state.js';
import type { CommonContract } from './tally.js';
import {
  conflictWords,
  contradictionsWords,
  contradictionWords,
  countWorkers,
  dissentWords,
  evidenceWords,
} from './words.js';

/** The one setter of a group's phase. */
function enter(state: AgreementState, group: Group, phase: Phase): void {
  group.phase = phase;
  state.version += 1;
}

/** A1–A6: what a group that runs no epoch has come to. */
type Decision =
  | { readonly state: 'collecting' }
  | { readonly state: 'conflict'; readonly substance: string; readonly words: () => string }
  | { readonly state: 'agreed'; readonly values: ContractValues; readonly isOverride: boolean };

/** A2: whether the missing still hold the group up. */
export function waitsForMissing(state: AgreementState, group: Group, nowMs: number): boolean {
  if (state.unassigned + group.missing === 0) return false;
  const { onMissing, collectTimeoutMs } = state.options;
  return onMissing === 'wait' || nowMs < group.collectingSinceMs + collectTimeoutMs;
}

/** A3: when the list of workers will have stood still long enough. */
export function settledAtMs(state: AgreementState): number {
  const { isStaticDiscovery, settleMs } = state.options;
  return isStaticDiscovery || state.lastNewMemberMs === undefined ? 0 : state.lastNewMemberMs + settleMs;
}

function decide(state: AgreementState, group: Group, nowMs: number): Decision {
  const { options } = state;
  const { tallies } = group;
  const enough = tallies.deciding >= options.minWorkers;
  if (options.overrideTokensPerBlock !== undefined) {
    if (!enough) return { state: 'collecting' };
    return {
      state: 'agreed',
      values: { tokens_per_block: options.overrideTokensPerBlock },
      isOverride: true,
    };
  }
  if (group.contradicting > 0) {
    const members = [...group.members.values()].filter((m) => decides(m) && contradictsItself(m, options));
    const substance = JSON.stringify(
      members.map(({ target, report }) => [target, report?.declared, report?.contractKey]),
    );
    return { state: 'conflict', substance, words: () => contradictionsWords(members, group.name) };
  }
  const { values, difference } = tallies.union();
  if (difference !== undefined) {
    const substance = JSON.stringify(tallies.distinct().map(({ key }) => key));
    return { state: 'conflict', substance, words: () => conflictWords(group, difference) };
  }
  if (!enough || waitsForMissing(state, group, nowMs) || nowMs < settledAtMs(state))
    return { state: 'collecting' };
  return { state: 'agreed', values, isOverride: false };
}

/** Brings a group to where its members' reports say that it should be. */
export function evaluate(
  state: AgreementState,
  group: Group,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  if (group.phase.state === 'agreed') {
    watchForChange(state, group, nowMs, effects);
    return;
  }
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
      if (before.state === 'conflict' && before.substance === decision.substance) return;
      enter(state, group, { state: 'conflict', substance: decision.substance });
      effects.push({
        type: 'log',
        level: 'error',
        code: 'conflict',
        group: group.name,
        message: decision.words(),
      });
      return;
    case 'agreed': {
      if (before.state === 'conflict') conflictOver(group, effects);
      const size = decision.values.tokens_per_block;
      const message = decision.isOverride
        ? `Using KV block size ${size} (from the explicit override)`
        : `Auto-configured KV block size to ${size} (from worker reports)`;
      startEpoch(state, group, decision.values, decision.isOverride, nowMs, effects);
      effects.push({ type: 'log', level: 'info', code: 'agreed', group: group.name, message });
      modeChanged(group, 'load_only', 'the gate is open, and no picture of any cache is held here', effects);
      judgeMembers(state, group, effects);
      return;
    }
  }
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
function startEpoch(
  state: AgreementState,
  group: Group,
  values: ContractValues,
  isOverride: boolean,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  if (group.phase.state === 'agreed') {
    effects.push({ type: 'gate', group: group.name, open: false });
    effects.push({ type: 'epoch_ended', group: group.name, epoch: group.phase.epoch });
  }
  state.epochs += 1;
  const epoch = state.epochs;
  group.tallies.setReference(values);
  group.candidate = undefined;
  enter(state, group, { state: 'agreed', epoch, values, isOverride });
  const collectedForMs = nowMs - group.collectingSinceMs;
  effects.push({ type: 'epoch_started', group: group.name, epoch, values, isOverride, collectedForMs });
  effects.push({ type: 'gate', group: group.name, open: true });
}

/** G7: a change of mode is logged once, with its reason. */
function modeChanged(group: Group, mode: string, reason: string, effects: AgreementEffect[]): void {
  const message = `Routing mode of "${group.name}" is now ${mode}: ${reason}.`;
  effects.push({ type: 'log', level: 'info', code: 'routing_mode', group: group.name, message });
}

/** Ends a group's epoch and shuts its gate, when the group itself ends. */
export function endEpoch(state: AgreementState, group: Group, effects: AgreementEffect[]): void {
  if (group.phase.state !== 'agreed') return;
  effects.push({ type: 'gate', group: group.name, open: false });
  effects.push({ type: 'epoch_ended', group: group.name, epoch: group.phase.epoch });
  modeChanged(group, 'closed', 'nobody serves the model', effects);
  group.tallies.setReference(undefined);
  enter(state, group, { state: 'collecting' });
}

/** A9: starts, keeps or ends the watch over another contract that a majority holds. */
function watchForChange(
  state: AgreementState,
  group: Group,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const { phase } = group;
  if (phase.state !== 'agreed' || phase.isOverride) return;
  const other = group.tallies.majorityAgainst();
  const holdouts = group.tallies.deciding - group.tallies.dissenting;
  if (other === undefined || (state.options.onChange === 'wait-all' && holdouts > 0)) {
    group.candidate = undefined;
    return;
  }
  if (group.candidate?.key !== other.key) group.candidate = { key: other.key, sinceMs: nowMs };
  if (nowMs - group.candidate.sinceMs < state.options.settleMs) return;
  changeEpoch(state, group, phase.values, other, nowMs, effects);
}

function changeEpoch(
  state: AgreementState,
  group: Group,
  old: ContractValues,
  other: CommonContract,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const fields = comparedFields(state.options);
  const field = firstDifference(old, other.values, fields) ?? 'tokens_per_block';
  const counts = `${other.count} of ${countWorkers(group.tallies.deciding)}`;
  const change = `${field} of "${group.name}" changed from ${old[field]} to ${other.values[field]} (${counts})`;
  if (state.options.onChange === 'refuse') {
    const message = `The ${change}, and --on-change=refuse forbids it.`;
    group.candidate = undefined;
    effects.push({ type: 'log', level: 'error', code: 'change_refused', group: group.name, message });
    effects.push({ type: 'refuse', group: group.name, message });
    return;
  }
  startEpoch(state, group, other.values, false, nowMs, effects);
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'new_epoch',
    group: group.name,
    message: `The ${change}: a new epoch has begun, and workers with the old value are left out until they follow.`,
  });
  for (const member of group.members.values()) {
    // The WARN above speaks for all that still hold the old value: no ERROR for each.
    if (conforms(state, member)) judgeMember(state, member, effects);
    else countDissent(group, member, effects);
  }
}

/** Says of every member once per instance what is wrong with it in the running epoch. */
function judgeMembers(state: AgreementState, group: Group, effects: AgreementEffect[]): void {
  for (const member of group.members.values()) judgeMember(state, member, effects);
}

/** Whether a member fits the running epoch, its own declaration included where the frontend goes by it. */
export function conforms(state: AgreementState, member: Member): boolean {
  return member.tally?.conforms === true && !contradictsItself(member, state.options);
}

/** Counts a member that differs, once per instance; false when it was counted before. */
function countDissent(group: Group, member: Member, effects: AgreementEffect[]): boolean {
  const { report, tally, target } = member;
  if (report === undefined || tally === undefined || member.toldDissent === report.instanceId) return false;
  member.toldDissent = report.instanceId;
  const source = report.evidence?.source ?? EvidenceSource.EVIDENCE_SOURCE_UNSPECIFIED;
  effects.push({ type: 'mismatch', group: group.name, worker: target, source, count: 1 });
  return true;
}

/** A6, A7, V4 and the topology policy: what must be said about one member, once per instance. */
export function judgeMember(state: AgreementState, member: Member, effects: AgreementEffect[]): void {
  const { group, report, tally } = member;
  if (group === undefined || report === undefined || tally === undefined) return;
  const { phase } = group;
  if (phase.state !== 'agreed') return;
  if (conforms(state, member)) {
    remark(state, group, member, report, phase.values, effects);
    return;
  }
  if (!countDissent(group, member, effects)) return;
  const loadOnly = state.options.mismatchedWorkers === 'load-only';
  if (phase.isOverride) {
    const fate = loadOnly ? 'offered without cache knowledge' : 'quarantined';
    effects.push({
      type: 'log',
      level: 'warn',
      code: 'override_differs',
      group: group.name,
      message:
        `Worker ${member.target} reports ${report.values.tokens_per_block} tokens per block (${evidenceWords(report)}), ` +
        `the explicit override is ${phase.values.tokens_per_block}: the override is used, ` +
        `the worker's KV events are not applied, and it is ${fate}.`,
    });
    return;
  }
  const message = tally.conforms
    ? `${contradictionWords(member)}.`
    : dissentWords(member, phase.values, comparedFields(state.options), loadOnly);
  effects.push({ type: 'log', level: 'error', code: 'worker_dissents', group: group.name, message });
}

/** What is worth a WARN although the member conforms, once per instance. */
function remark(
  state: AgreementState,
  group: Group,
  member: Member,
  report: WorkerReport,
  agreed: ContractValues,
  effects: AgreementEffect[],
): void {
  if (member.toldRemark === report.instanceId) return;
  const warn = (code: 'worker_contradicts_itself' | 'topology_differs', message: string): void => {
    member.toldRemark = report.instanceId;
    effects.push({ type: 'log', level: 'warn', code, group: group.name, message });
  };
  if (report.declared !== undefined) warn('worker_contradicts_itself', `${contradictionWords(member)}.`);
  if (state.options.topology !== 'warn') return;
  const field = firstDifference(report.values, agreed, TOPOLOGY_FIELDS);
  if (field === undefined) return;
  warn(
    'topology_differs',
    `Worker ${member.target} has ${field} ${report.values[field]}, others of "${group.name}" have ${agreed[field]}: ` +
      'they take different times for the same work. --topology=require would keep it out.',
  );
}
