import type { ContractField } from '../../contract/contract-values.js';
import { firstDifference } from '../../contract/contract-values.js';
import {
  isTextProbe,
  type ProbeAnswer,
  probeOf,
  type TokenField,
  whereAnswersDiffer,
} from '../../contract/tokens/token-answers.js';
import { decides, remarkedTokenFields } from '../state/judgement.js';
import type { AgreementState, Group, Member } from '../state/state.js';

/** The token field in which a member that conforms differs from most of its group (A13); undefined where there is none. */
export function remarkedDifference(state: AgreementState, member: Member): TokenField | undefined {
  const { group, report } = member;
  if (group === undefined || report === undefined) return undefined;
  const fields: readonly ContractField[] = remarkedTokenFields(state.options);
  return firstDifference(report.values, group.tallies.late, fields) as TokenField | undefined;
}

/**
 * What two workers make of one prompt: `makes 116 tokens of the probe "tools",
 * 12 at position 7, where w-1 makes 120, with 15 there`.
 */
export function tokenDifferenceMessage(group: Group, member: Member, field: TokenField): string {
  const other = holderOf(group, field, group.tallies.late[field]);
  const name = probeOf(field);
  const mine = answerOf(member, name);
  const theirs = other === undefined ? undefined : answerOf(other, name);
  const whose = other === undefined ? 'the other workers' : other.target;
  if (mine === undefined || theirs === undefined)
    return `makes other tokens of the probe "${name}" than ${whose}`;
  if (mine.isRefused) return `refuses the probe "${name}", which ${whose} takes`;
  if (theirs.isRefused) return `takes the probe "${name}", which ${whose} refuses`;
  const where = whereAnswersDiffer(mine, theirs);
  if (where === undefined)
    return `makes other text of the probe "${name}" than ${whose} (its template writes the date, so no position is named)`;
  return (
    `makes ${mine.tokenCount} tokens of the probe "${name}", ${idText(where.one)} at position ${where.position}, ` +
    `where ${whose} makes ${theirs.tokenCount} tokens, ${idText(where.other)} at that position`
  );
}

/** What one worker makes of a probe, beside the first position at which it differs from `than`. */
export function answerMessage(member: Member, than: Member | undefined, field: TokenField): string {
  const mine = answerOf(member, probeOf(field));
  if (mine === undefined) return 'unknown';
  if (mine.isRefused) return 'refused';
  const count = mine.isUndated ? 'a text with the date' : `${mine.tokenCount} tokens`;
  const theirs = than === undefined ? undefined : answerOf(than, probeOf(field));
  const where = theirs === undefined ? undefined : whereAnswersDiffer(mine, theirs);
  return where === undefined
    ? count
    : `${count}, ${idText(where.one)} at position ${where.position} (${idText(where.other)} in the first line)`;
}

/** What would make workers render the same. */
export function tokenCure(field: TokenField): string {
  const setting = isTextProbe(probeOf(field))
    ? 'the same tokenizer (--tokenizer, --revision, --tokenizer-revision)'
    : 'the same chat template (--chat-template, or that of the same model --revision)';
  return `${setting} on all workers of the model, or accept the difference with --token-probes=ignore`;
}

/** The first by name that holds a value, so that the order of arrival does not show (A11). */
function holderOf(group: Group, field: TokenField, value: string | undefined): Member | undefined {
  let first: Member | undefined;
  for (const member of group.members.values()) {
    if (member.report?.values[field] !== value || !decides(member)) continue;
    if (first === undefined || member.target < first.target) first = member;
  }
  return first;
}

function answerOf({ report }: Member, name: string): ProbeAnswer | undefined {
  return report?.probeAnswers.find((answer) => answer.name === name);
}

function idText(id: number | undefined): string {
  return id === undefined ? 'none' : `token ${id}`;
}
