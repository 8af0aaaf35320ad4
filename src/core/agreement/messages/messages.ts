import type { ContractField } from '../../contract/contract-values.js';
import { firstDifference } from '../../contract/contract-values.js';
import {
  commonSize,
  type SizeFacts,
  type SizeRule,
  sizeRule,
  sizeSetting,
} from '../../contract/evidence/size-rule.js';
import { isCacheGroupField } from '../../contract/late-fields.js';
import { isTokenField, probeOf } from '../../contract/tokens/token-answers.js';
import { declarationSettingOf } from '../../contract/wire/engine-kinds.js';
import { EngineKind } from '../../contract/wire/enums.js';
import { engineKindName, evidenceSourceName } from '../../contract/wire/names.js';
import type { WorkerReport } from '../../contract/worker-report.js';
import { groupBy } from '../../data/group-by.js';
import { andMore, clip, joinSome, MAX_NAMES, nameSome } from '../../text/lists.js';
import { decides, differsFromDecodeWorkers } from '../state/judgement.js';
import { memberName } from '../state/member-name.js';
import { isMereDeclaration, isObserved } from '../state/observed.js';
import type { Group, Member, Phase } from '../state/state.js';
import { rehashAdvice, rehashRefusal } from './rehash-advice.js';
import { answerMessage, tokenCure, tokenDifferenceMessage } from './token-messages.js';

/** Longest part that one of several has in a sentence. */
const MAX_PART_CHARS = 300;

/** Longest reason: ten members with a part each, or the values of a conflict and what to change. */
export const MAX_REASON_CHARS = 8_192;

/** Of a conflict, all values together; the rest is for what to change. */
const MAX_VALUE_GROUPS_CHARS = 4_096;
const MAX_ADVICE_CHARS = 3_072;

/** Longest text about one member: what its sidecar says of itself may be 64 reasons of 4,096 characters. */
export const MAX_MEMBER_CHARS = 1_024;

/** Values that one conflict lists before the rest is counted: each worker may have one of its own. */
const MAX_VALUE_GROUPS = 10;

/** What a value is called in a sentence. */
function fieldText(field: ContractField): string {
  if (isTokenField(field)) return `tokens of the probe "${probeOf(field)}"`;
  return field === 'tokens_per_block' ? 'KV block size (tokens_per_block)' : field;
}

/** `engine_metrics, GET http://…/metrics: effective_attention_block_size="32"`. */
export function evidenceText(report: WorkerReport): string {
  const { evidence } = report;
  if (evidence === undefined) return 'no evidence';
  const { source, origin, raw } = evidence;
  return `${evidenceSourceName(source)}, ${clip(origin, MAX_PART_CHARS)}: ${clip(raw, MAX_PART_CHARS)}`;
}

/** Of a member that has reported nothing: any size. */
const UNKNOWN_SIZES: SizeFacts = { engineKind: EngineKind.UNSPECIFIED };

/** Members of a group that hold one value of a field. */
interface ValueGroup {
  readonly value: string | number;
  readonly members: Member[];
}

/** Who holds which value of a field, most first; members that cannot say it are left out (A5). By name, not by arrival (A11). */
function valueGroupsOf(group: Group, field: ContractField): ValueGroup[] {
  const valueGroups = new Map<string | number, ValueGroup>();
  const members = [...group.members.values()].sort((a, b) => (a.target < b.target ? -1 : 1));
  for (const member of members) {
    const value = member.report?.values[field];
    if (value === undefined || !decides(member)) continue;
    const valueGroup = valueGroups.get(value);
    if (valueGroup === undefined) valueGroups.set(value, { value, members: [member] });
    else valueGroup.members.push(member);
  }
  return [...valueGroups.values()].sort(
    (a, b) => b.members.length - a.members.length || String(a.value).localeCompare(String(b.value)),
  );
}

function valueGroupLine(
  { value, members }: ValueGroup,
  field: ContractField,
  largest: ValueGroup | undefined,
): string {
  const names = nameSome(members.map(memberName));
  const [first] = members;
  if (isTokenField(field) && first !== undefined) {
    const than = largest?.members[0] === first ? undefined : largest?.members[0];
    const kind = engineKindName(first.report?.engineKind ?? EngineKind.UNSPECIFIED);
    return `  ${answerMessage(first, than, field)}: ${names} (${kind})`;
  }
  const sample = members[0]?.report;
  if (isCacheGroupField(field) && sample !== undefined) {
    return `  ${value}: ${names} (${engineKindName(sample.engineKind)}, by its KV events)`;
  }
  const because =
    sample === undefined ? '' : ` (${engineKindName(sample.engineKind)}; ${evidenceText(sample)})`;
  return `  ${value}: ${names}${because}`;
}

/** What to do about members, for each kind of engine. */
function stepsByKind(
  members: readonly Member[],
  step: (kind: EngineKind, names: string) => string,
): readonly string[] {
  const kinds = groupBy(members, ({ report }) => report?.engineKind ?? EngineKind.UNSPECIFIED);
  return [...kinds].map(([kind, alike]) => step(kind, nameSome(alike.map(memberName))));
}

/** What would end the conflict: the other value groups take the value of the largest, where their engines can. */
function adviceFor(field: ContractField, valueGroups: readonly ValueGroup[]): string {
  const [largest] = valueGroups;
  if (largest === undefined) return '';
  if (isTokenField(field)) return `Fix: ${tokenCure(field)}.`;
  if (field !== 'tokens_per_block') {
    return `Run all workers of one model with the same ${field}, or give them different served model names.`;
  }
  const isMereWord = largest.members.every(({ report }) => report !== undefined && isMereDeclaration(report));
  const misdeclares = ({ report }: Member): boolean => report?.declared?.tokensPerBlock === largest.value;
  const changing = valueGroups.flatMap(({ members }) =>
    members.filter((member) => !(isMereWord && misdeclares(member))),
  );
  const target = commonSizeOf(changing, valueGroups);
  if (target === undefined) return noSizeFits(changing);
  const steps = valueGroups
    .filter(({ value }) => value !== target)
    .slice(0, MAX_VALUE_GROUPS)
    .flatMap((valueGroup) => {
      const misdeclared = valueGroup.members.filter(misdeclares);
      const other = valueGroup.members.filter((member) => !misdeclared.includes(member));
      return [
        ...restartSteps(other, target),
        // V4: they say the same as the largest value group, and do something else.
        ...stepsByKind(misdeclared, (kind, names) =>
          isMereWord
            ? `set ${declarationSettingOf(kind, valueGroup.value)} on ${names}: declared is ${largest.value}, in use is ${valueGroup.value}`
            : target === largest.value
              ? `restart ${names} with an engine that uses ${target}, as is declared: it uses ${valueGroup.value}`
              : `restart ${names} with an engine that has and declares ${target}`,
        ),
      ];
    });
  const because = target === largest.value ? '' : ` (${refusalsOf(changing, largest.value)})`;
  return `To fix it, ${steps.join('; ')}${because}. Or insist on one value with --kv-cache-block-size, at the price of no KV-aware routing for the others.`;
}

/** The size that no engine among the members refuses: one that a value group has, that of the largest first. */
function commonSizeOf(members: readonly Member[], valueGroups: readonly ValueGroup[]): number | undefined {
  const preferred = valueGroups.flatMap(({ value }) => (typeof value === 'number' ? [value] : []));
  return commonSize(members.map(ruleOfMember), preferred);
}

/** `restart a, b with --page-size 32`, for each kind of setting. */
function restartSteps(members: readonly Member[], tokensPerBlock: number): readonly string[] {
  const settings = groupBy(members, ({ report }) => settingText(report, tokensPerBlock));
  return [...settings].map(
    ([setting, alike]) => `restart ${nameSome(alike.map(memberName))} with ${setting}`,
  );
}

/** `--block-size 16`, and on which device where the engine does not take it on all. */
function settingText(report: WorkerReport | undefined, tokensPerBlock: number): string {
  const rule = sizeRule(report?.sizeFacts ?? UNKNOWN_SIZES);
  const kind = report?.engineKind ?? EngineKind.UNSPECIFIED;
  const setting = sizeSetting(kind, tokensPerBlock, rule.contextParallel);
  return rule.takes(tokensPerBlock) === 'maybe' ? `${setting} (${rule.reason})` : setting;
}

/** Why engines cannot take a value: the rule of each kind, once. */
function refusalsOf(members: readonly Member[], value: string | number): string {
  const rules = members.map(ruleOfMember).filter((rule) => rule.takes(Number(value)) === 'no');
  return `not ${value}, because ${joinSome([...new Set(rules.map(({ reason }) => reason))], MAX_PART_CHARS * 2)}`;
}

/** What is left where engines have no size in common. */
function noSizeFits(members: readonly Member[]): string {
  const reasons = [...new Set(members.map((member) => ruleOfMember(member).reason))];
  return `No block size fits all of them: ${joinSome(reasons, MAX_PART_CHARS * 2)}. Give them different served model names, or insist on one value with --kv-cache-block-size, at the price of no KV-aware routing for the others.`;
}

function ruleOfMember({ report }: Member): SizeRule {
  return sizeRule(report?.sizeFacts ?? UNKNOWN_SIZES);
}

/** A4: each value, the workers behind it, their evidence, and what to change. */
export function conflictMessage(group: Group, field: ContractField): string {
  const valueGroups = valueGroupsOf(group, field);
  const rest = valueGroups.length - MAX_VALUE_GROUPS;
  const valueGroupChars = Math.floor(MAX_VALUE_GROUPS_CHARS / Math.min(valueGroups.length, MAX_VALUE_GROUPS));
  return [
    `Workers of "${group.name}" disagree on the ${fieldText(field)}; the gate stays shut.`,
    ...valueGroups
      .slice(0, MAX_VALUE_GROUPS)
      .map((valueGroup) => clip(valueGroupLine(valueGroup, field, valueGroups[0]), valueGroupChars)),
    ...(rest > 0 ? [` ${andMore(rest, 'values')}`] : []),
    clip(adviceFor(field, valueGroups), MAX_ADVICE_CHARS),
    ...rehashLines(group, field, valueGroups),
  ].join('\n');
}

function rehashLines(
  group: Group,
  field: ContractField,
  valueGroups: readonly ValueGroup[],
): readonly string[] {
  if (field !== 'tokens_per_block') return [];
  const members = valueGroups.flatMap((valueGroup) => valueGroup.members);
  const advice = rehashAdvice(members, group.tallies.isRehashing);
  return advice === '' ? [] : [clip(advice, 3 * MAX_PART_CHARS)];
}

/** V4, V5: one worker whose declaration is not what its engine runs. */
export function contradictionMessage(member: Member): string {
  const { report } = member;
  const declared = report?.declared;
  if (report === undefined || declared === undefined) return '';
  const real = report.values.tokens_per_block ?? '?';
  return (
    `Worker ${memberName(member)} declares ${declared.tokensPerBlock} (${declared.origin}) but its engine uses ${real} ` +
    `(${evidenceText(report)}): set ${declarationSettingOf(report.engineKind, real)} on the worker`
  );
}

/** V5: every worker that contradicts itself, when the frontend goes by declarations. */
export function contradictionsMessage(members: readonly Member[], groupName: string): string {
  const lines = members.slice(0, MAX_NAMES).map((member) => `  ${contradictionMessage(member)}`);
  if (members.length > MAX_NAMES) lines.push(` ${andMore(members.length - MAX_NAMES)}`);
  return [
    `Workers of "${groupName}" declare another KV block size than their engines use, and this frontend goes by what they declare; the gate stays shut.`,
    ...lines,
  ].join('\n');
}

/** The epoch that a member is checked against. */
type Agreed = Phase & { readonly state: 'agreed' };

/**
 * V3: the block size that requests are hashed with and the one of a worker's live
 * events. The first and the last line are fixed, so that logs can be searched
 * for them; the one between names the place that decides here.
 */
export function mismatchMessage(member: Member, { values, isOverride }: Agreed): string {
  const { report } = member;
  const ours = values.tokens_per_block ?? '?';
  const theirs = report?.values.tokens_per_block ?? '?';
  const kind = report?.engineKind ?? EngineKind.UNSPECIFIED;
  const isPossible = ruleOfMember(member).takes(Number(ours)) !== 'no';
  const cure = isOverride
    ? `Set DYN_KV_CACHE_BLOCK_SIZE=${theirs} on the frontend${isPossible ? ` or configure tokens_per_block=${ours} on workers` : ` (${refusalsOf([member], ours)})`}.`
    : report?.declared?.tokensPerBlock === ours
      ? `Worker ${memberName(member)} declares ${ours} but its engine uses ${theirs}: set ${declarationSettingOf(kind, theirs)} on the worker.`
      : `Worker ${memberName(member)} uses ${theirs} and the fleet agreed on ${ours}: ${restartMessage(member, ours)}.`;
  return [
    `Frontend KV block size (${ours}) does not match worker block size (${theirs}).`,
    cure,
    'KV-aware routing will not function until block sizes match.',
  ].join('\n');
}

/** P1: a decode worker whose block size is not that of most of its role. */
function decodeSizeMessage(group: Group, member: Member, loadOnly: boolean): string {
  const { report } = member;
  const common = group.tallies.decodeSize ?? '?';
  const fate = loadOnly
    ? 'It is offered without cache knowledge.'
    : 'It is quarantined: it gets no requests.';
  const evidence = report === undefined ? '' : ` (${evidenceText(report)})`;
  return `Worker ${memberName(member)} has ${fieldText('tokens_per_block')} ${report?.values.tokens_per_block ?? '?'}, most decode workers of "${group.name}" have ${common}${evidence}. ${fate} To fix it, restart it with ${settingText(report, Number(common))}.`;
}

/** A6, A7, V3, V5: what is wrong with a member that differs from the running epoch. */
export function dissentMessage(
  member: Member,
  { values, isOverride }: Agreed,
  fields: readonly ContractField[],
  loadOnly: boolean,
): string {
  const { report, group } = member;
  if (report === undefined || group === undefined) return '';
  const { tallies } = group;
  if (differsFromDecodeWorkers(member)) return decodeSizeMessage(group, member, loadOnly);
  const compared = tallies.judged(report.values, report.serving.role === 'decode');
  const field = firstDifference(compared, { ...tallies.reference, ...values }, fields);
  if (field === undefined) return `${contradictionMessage(member)}.`;
  if (isTokenField(field)) {
    const consequence = loadOnly
      ? 'It is offered without cache knowledge.'
      : 'It is quarantined: it gets no requests.';
    return `Worker ${memberName(member)} ${tokenDifferenceMessage(group, member, field)}. ${consequence} Fix: ${tokenCure(field)}.`;
  }
  if (isCacheGroupField(field)) {
    const most = group.tallies.reference[field] ?? '?';
    const consequence = loadOnly
      ? 'It is offered without cache knowledge.'
      : 'It is quarantined: it gets no requests.';
    const shown = `its KV events show ${field} ${report.values[field]}, those of most workers ${most}`;
    return `Worker ${memberName(member)} runs another model or configuration than the others: ${shown}. ${consequence} To fix it, run it with the same model and settings, or give it a served model name of its own.`;
  }
  const agreed = values[field] ?? '?';
  const fate = loadOnly
    ? 'It is offered without cache knowledge.'
    : 'It is quarantined: it gets no requests, and its KV events are not applied.';
  const theirs = report.values[field];
  const decider = isOverride ? `the explicit override is ${agreed}` : `the fleet agreed on ${agreed}`;
  const refusal =
    field === 'tokens_per_block' ? rehashRefusal(report, Number(agreed), tallies.isRehashing) : '';
  return `Worker ${memberName(member)} has ${fieldText(field)} ${theirs}, ${decider} (${evidenceText(report)}). ${fate}${refusal} To fix it, ${cureFor(member, report, field, agreed)}.`;
}

/** What would make a worker that differs fit. */
function cureFor(
  member: Member,
  report: WorkerReport,
  field: ContractField,
  agreed: string | number,
): string {
  if (field !== 'tokens_per_block') return `run it with the same ${field}`;
  const real = report.values.tokens_per_block ?? '?';
  const { declared, engineKind } = report;
  // V4: it had itself agreed to this value, and so did the fleet: an engine that follows would be the wrong way round.
  if (isObserved(report) && declared?.tokensPerBlock === agreed) {
    return `set ${declarationSettingOf(engineKind, real)} on the worker, which declares ${agreed} (${declared.origin}) but uses ${real}`;
  }
  return restartMessage(member, agreed);
}

/** How a member gets the agreed size, or all of the group to one that its engine can take. */
function restartMessage(member: Member, agreed: string | number): string {
  const size = Number(agreed);
  if (ruleOfMember(member).takes(size) !== 'no') return `restart it with ${settingText(member.report, size)}`;
  const members = [...(member.group?.members.values() ?? [member])].filter(
    (other) => other === member || decides(other),
  );
  const own = member.report?.values.tokens_per_block;
  const target = commonSize(members.map(ruleOfMember), typeof own === 'number' ? [own] : []);
  const refusal = refusalsOf([member], agreed);
  if (target === undefined) return `give it another served model name: ${refusal}, and no size fits all`;
  const others = members
    .filter(({ report }) => report?.values.tokens_per_block !== target)
    .sort((a, b) => (a.target < b.target ? -1 : 1));
  return clip(
    `${joinSome(restartSteps(others, target), MAX_ADVICE_CHARS)} (${refusal})`,
    MAX_MEMBER_CHARS - MAX_PART_CHARS,
  );
}
