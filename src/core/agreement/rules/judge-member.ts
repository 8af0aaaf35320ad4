import type { ContractValues } from '../../contract/contract-values.js';
import { firstDifference, TOPOLOGY_FIELDS } from '../../contract/contract-values.js';
import { EvidenceSource } from '../../contract/wire/enums.js';
import type { WorkerReport } from '../../contract/worker-report.js';
import { addTo } from '../../data/group-by.js';
import { misreadMessage } from '../messages/event-source-messages.js';
import { contradictionMessage, dissentMessage, evidenceText, mismatchMessage } from '../messages/messages.js';
import { noPartnerMessage } from '../messages/pair-messages.js';
import { rehashMessage } from '../messages/rehash-message.js';
import { remarkedDifference, tokenCure, tokenDifferenceMessage } from '../messages/token-messages.js';
import type { AgreementEffect } from '../state/events.js';
import { comparedFields, conforms, hasNoPartner, isLateDissent, rehashedSize } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { isObserved } from '../state/observed.js';
import type { AgreementState, Group, Member } from '../state/state.js';
import type { Step } from '../state/step.js';
import { forget } from './members.js';
import { countCacheKnowledge } from './routing.js';

/** Counts a member that differs, once per instance; false when it was counted before. */
export function countDissent(step: Step, group: Group, member: Member): boolean {
  const { state, effects } = step;
  const { report, tally, target } = member;
  if (report === undefined || tally === undefined || member.dissentLoggedFor === report.instanceId)
    return false;
  member.dissentLoggedFor = report.instanceId;
  // Its blocks are as wide as those of all.
  if (isLateDissent(state, member)) return true;
  const source = report.evidence?.source ?? EvidenceSource.UNSPECIFIED;
  effects.push({
    type: 'mismatch',
    group: group.name,
    worker: target,
    workerId: report.workerId,
    source,
    count: 1,
  });
  return true;
}

/** A6, A7, V3, V4 and the topology policy: what must be said about one member, once per instance. */
export function judgeMember(step: Step, member: Member): void {
  const { state, effects } = step;
  const { group, report, tally, target } = member;
  if (group === undefined || report === undefined || tally === undefined) return;
  const { phase } = group;
  if (phase.state !== 'agreed') return;
  if (conforms(state, member)) {
    if (member.held !== report.instanceId) {
      member.held = report.instanceId;
      countCacheKnowledge(state, member);
    }
    remarkRehash(group, [member], effects);
    remark(step, group, member, report, phase.values);
    return;
  }
  forget(member, effects);
  if (hasNoPartner(state, member)) {
    logNoPartner(group, member, report, effects);
    return;
  }
  const log = (
    level: 'warn' | 'error',
    code: 'override_differs' | 'worker_dissents' | 'block_size_mismatch',
    message: string,
  ): void => {
    effects.push({ type: 'log', level, code, group: group.name, worker: target, message });
  };
  const agreed = phase.values.tokens_per_block;
  const isNews = countDissent(step, group, member);
  const judged = group.tallies.judged(report.values, tally.isDecode);
  if (isObserved(report) && judged.tokens_per_block !== agreed) {
    if (member.mismatchLoggedFor === report.instanceId) return;
    member.mismatchLoggedFor = report.instanceId;
    const isFolded = !phase.isOverride && isTrueToItself(member) && isMismatchLogged(state, group, member);
    if (!isFolded) log('error', 'block_size_mismatch', mismatchMessage(member, phase));
    return;
  }
  if (!isNews) return;
  const loadOnly = state.options.mismatchedWorkers === 'load-only';
  if (tally.conforms) {
    log('error', 'worker_dissents', `${contradictionMessage(member)}.`);
  } else if (phase.isOverride && !isLateDissent(state, member)) {
    const fate = loadOnly ? 'offered without cache knowledge' : 'quarantined';
    log(
      'warn',
      'override_differs',
      `Worker ${memberName(member)} reports ${report.values.tokens_per_block} tokens per block (${evidenceText(report)}), ` +
        `the explicit override is ${agreed}: the override is used, ` +
        `the worker's KV events are not applied, and it is ${fate}.`,
    );
  } else if (isFirstOfItsKind(state, group, member)) {
    log('error', 'worker_dissents', dissentMessage(member, phase, comparedFields(state.options), loadOnly));
  }
}

/** P5: an ERROR once for each instance, and one for all that have the same transfer contract. */
function logNoPartner(
  group: Group,
  member: Member,
  { instanceId }: WorkerReport,
  effects: AgreementEffect[],
): void {
  if (member.noPartnerLoggedFor === instanceId) return;
  member.noPartnerLoggedFor = instanceId;
  for (const target of group.pairs.alikeTo(member.target)) {
    const other = group.members.get(target);
    if (other !== undefined && other !== member && other.noPartnerLoggedFor === other.report?.instanceId)
      return;
  }
  const message = noPartnerMessage(group, member);
  effects.push({
    type: 'log',
    level: 'error',
    code: 'no_partner',
    group: group.name,
    worker: member.target,
    message,
  });
}

/** A15: an INFO with both sizes for members whose blocks are re-hashed, once per instance and size; one for all that have the same. */
export function remarkRehash(group: Group, members: Iterable<Member>, effects: AgreementEffect[]): void {
  const bySize = new Map<string | number, string[]>();
  let canonical: number | undefined;
  for (const member of members) {
    const size = rehashedSize(member);
    if (size === undefined || member.report === undefined) continue;
    const loggedKey = `${member.report.instanceId} ${size}`;
    if (member.rehashLoggedFor === loggedKey) continue;
    member.rehashLoggedFor = loggedKey;
    canonical = size;
    const own = member.report.values.tokens_per_block ?? '?';
    addTo(bySize, own, memberName(member));
  }
  if (canonical === undefined) return;
  for (const [own, targets] of [...bySize].sort(([a], [b]) => Number(a) - Number(b))) {
    const message = rehashMessage(group.name, own, targets.sort(), canonical);
    effects.push({ type: 'log', level: 'info', code: 'rehashed', group: group.name, message });
  }
}

/**
 * A7: whether no other member of the group differs by the same contract. In a
 * rolling change the first is logged; what is said of it holds for those that
 * follow, which are counted and shown by state.
 */
function isFirstOfItsKind(state: AgreementState, group: Group, member: Member): boolean {
  const key = member.report?.contractKey;
  for (const other of group.members.values()) {
    if (other === member || other.report?.contractKey !== key) continue;
    if (other.report?.instanceId === other.dissentLoggedFor && !conforms(state, other)) return false;
  }
  return true;
}

/** Whether a worker's own report has the size that its events show, and nothing was declared otherwise. */
function isTrueToItself({ received, report }: Member): boolean {
  const isReported = received?.values.tokens_per_block === report?.values.tokens_per_block;
  return isReported && report?.declared === undefined;
}

/** V3 in a change under way: whether the ERROR of another worker with the same contract speaks for this one. */
function isMismatchLogged(state: AgreementState, group: Group, member: Member): boolean {
  const key = member.report?.contractKey;
  for (const other of group.members.values()) {
    if (other === member || other.report?.contractKey !== key) continue;
    if (other.report?.instanceId === other.mismatchLoggedFor && !conforms(state, other)) return true;
  }
  return false;
}

/** What is worth a WARN although the member conforms, once per instance. */
function remark(
  step: Step,
  group: Group,
  member: Member,
  report: WorkerReport,
  agreed: ContractValues,
): void {
  const { state, effects } = step;
  remarkTokens(step, group, member, report);
  remarkEvents(group, member, report, effects);
  if (member.remarkLoggedFor === report.instanceId) return;
  const warn = (code: 'worker_contradicts_itself' | 'topology_differs', message: string): void => {
    member.remarkLoggedFor = report.instanceId;
    effects.push({ type: 'log', level: 'warn', code, group: group.name, worker: member.target, message });
  };
  if (report.declared !== undefined) warn('worker_contradicts_itself', `${contradictionMessage(member)}.`);
  if (state.options.topology !== 'warn') return;
  const field = firstDifference(report.values, agreed, TOPOLOGY_FIELDS);
  if (field === undefined) return;
  warn(
    'topology_differs',
    `Worker ${memberName(member)} has ${field} ${report.values[field]}, others of "${group.name}" have ${agreed[field]}: ` +
      'they take different times for the same work. --topology=require would keep it out.',
  );
}

/** A13: a WARN of tokens that are not compared, or not with engines of other kinds. */
function remarkTokens(step: Step, group: Group, member: Member, report: WorkerReport): void {
  const { state, effects } = step;
  if (member.tokensLoggedFor === report.instanceId) return;
  const field = remarkedDifference(state, member);
  if (field === undefined) return;
  member.tokensLoggedFor = report.instanceId;
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'tokens_differ',
    group: group.name,
    worker: member.target,
    message:
      `Worker ${memberName(member)} ${tokenDifferenceMessage(group, member, field)}: what is predicted for it is not exact. ` +
      `Use ${tokenCure(field)}.`,
  });
}

/** V6: a WARN of events that are read elsewhere than the engine says. */
function remarkEvents(group: Group, member: Member, report: WorkerReport, effects: AgreementEffect[]): void {
  if (report.misreadEvents === undefined || member.eventsLoggedFor === report.instanceId) return;
  member.eventsLoggedFor = report.instanceId;
  effects.push({
    type: 'log',
    level: 'warn',
    code: 'event_sources_differ',
    group: group.name,
    worker: member.target,
    message: `Worker ${memberName(member)}: ${misreadMessage(group, member)}.`,
  });
}
