import type { ContractField } from '../../contract/contract-values.js';
import {
  CACHE_GROUP_FIELDS,
  CONTRACT_FIELDS,
  firstDifference,
  TOPOLOGY_FIELDS,
} from '../../contract/contract-values.js';
import { isLateField } from '../../contract/late-fields.js';
import { SHAPED_TOKEN_FIELDS, TOKEN_FIELDS, type TokenField } from '../../contract/tokens/token-answers.js';
import type { AgreementOptions } from './options.js';
import type { AgreementState, Group, Member } from './state.js';

/**
 * How engines hash their own blocks. An index that hashes the tokens of events
 * itself does not care; a frontend that compares the hashes of engines does.
 */
const ENGINE_HASH_FIELDS: readonly ContractField[] = ['hash_algorithm', 'hash_seed'];

/** Groups come behind what every engine can say. */
const ALL_FIELDS: readonly ContractField[] = [...CONTRACT_FIELDS, CACHE_GROUP_FIELDS];

const OWN_INDEX_FIELDS = ALL_FIELDS.filter((field) => !ENGINE_HASH_FIELDS.includes(field));

/** What members of a group must not differ in, by `frontendUses`; then the same with the topology. */
const COMPARED: Readonly<Record<AgreementOptions['frontendUses'], readonly ContractField[]>> = {
  observed: OWN_INDEX_FIELDS,
  declared: ALL_FIELDS,
};
const COMPARED_WITH_TOPOLOGY: typeof COMPARED = {
  observed: [...OWN_INDEX_FIELDS, ...TOPOLOGY_FIELDS],
  declared: [...ALL_FIELDS, ...TOPOLOGY_FIELDS],
};

/** The same with tokens: behind the block size, and before the fingerprint of files, which names neither probe nor position. */
const withTokens = (fields: readonly ContractField[]): readonly ContractField[] => [
  ...fields.slice(0, 1),
  ...TOKEN_FIELDS,
  ...fields.slice(1),
];
const COMPARED_WITH_TOKENS: typeof COMPARED = {
  observed: withTokens(COMPARED.observed),
  declared: withTokens(COMPARED.declared),
};
const COMPARED_WITH_BOTH: typeof COMPARED = {
  observed: withTokens(COMPARED_WITH_TOPOLOGY.observed),
  declared: withTokens(COMPARED_WITH_TOPOLOGY.declared),
};

/** The fields in which members of a group must not differ. */
export function comparedFields({
  topology,
  tokenProbes,
  frontendUses,
}: AgreementOptions): readonly ContractField[] {
  const isRequired = topology === 'require';
  const sets =
    tokenProbes === 'ignore'
      ? isRequired
        ? COMPARED_WITH_TOPOLOGY
        : COMPARED
      : isRequired
        ? COMPARED_WITH_BOTH
        : COMPARED_WITH_TOKENS;
  return sets[frontendUses];
}

const ALL_TOKEN_FIELDS: readonly TokenField[] = [...TOKEN_FIELDS, ...SHAPED_TOKEN_FIELDS];

/** A13: token fields in which members may differ, with a warning and without an exact cache view. */
export function remarkedTokenFields({ tokenProbes }: AgreementOptions): readonly TokenField[] {
  return tokenProbes === 'ignore' ? ALL_TOKEN_FIELDS : SHAPED_TOKEN_FIELDS;
}

/** A10: whether a member is on its way out, by discovery's word or its own. */
export function drains(member: Member): boolean {
  return member.listedDraining || member.report?.draining === true;
}

/** A10: whether a member has a voice. One that is lost keeps it for the grace time (G5). */
export function decides(member: Member): boolean {
  return !drains(member) && !member.expired && member.report?.usable === true;
}

/** V5: the worker's own declaration is wrong, and this frontend goes by it. */
export function contradictsItself(member: Member, options: AgreementOptions): boolean {
  return options.frontendUses === 'declared' && member.report?.declared !== undefined;
}

/** Who decides and contradicts itself, by name, so that the order of arrival does not show (A11). */
export function contradictingMembers(group: Group, options: AgreementOptions): Member[] {
  return [...group.members.values()]
    .filter((member) => decides(member) && contradictsItself(member, options))
    .sort((a, b) => (a.target < b.target ? -1 : 1));
}

/** Whether it fits the running epoch, its own declaration included where the frontend goes by it, and has a partner where it needs one. */
export function conforms(state: AgreementState, member: Member): boolean {
  return (
    member.tally?.conforms === true &&
    !contradictsItself(member, state.options) &&
    !hasNoPartner(state, member)
  );
}

/** P5: whether workers of the other role are there, and its blocks can go to or come from none of them. */
export function hasNoPartner({ options }: AgreementState, { group, target, tally }: Member): boolean {
  if (group === undefined || tally === undefined || options.pairPolicy === 'report') return false;
  return group.phase.state === 'agreed' && group.pairs.hasNoPartner(target);
}

/** P1: what its role shares, as far as block sizes go. */
function isDecode({ report }: Member): boolean {
  return report?.serving.role === 'decode';
}

/** P1: whether a decode worker has another block size than most of its role. */
export function differsFromDecodeWorkers({ group, report, tally }: Member): boolean {
  if (group === undefined || report === undefined || tally?.isDecode !== true) return false;
  return group.tallies.hasOtherDecodeSize(report.values);
}

/** Whether a member gets requests: not at all, without cache knowledge, or fully. */
export type MemberOffer = 'none' | 'load_only' | 'full';

/** What a member gets once its group has agreed. A lost one is offered as before for the grace time (G5). */
export function offerOf(state: AgreementState, member: Member): MemberOffer {
  if (!decides(member)) return 'none';
  if (conforms(state, member)) return isOutsideIndex(member) ? 'load_only' : 'full';
  if (hasNoPartner(state, member)) return 'none';
  return state.options.mismatchedWorkers === 'load-only' ? 'load_only' : 'none';
}

/** P1: a decode worker whose blocks are of another size than those of the index is offered without cache knowledge. */
function isOutsideIndex(member: Member): boolean {
  const { group, report } = member;
  if (!isDecode(member) || group === undefined || report === undefined) return false;
  return group.tallies.hasOtherSizeThanIndex(report.values);
}

/** A15: the size into which its sidecar re-hashes the blocks of a member; undefined where its own are used. */
export function rehashedSize({ group, report }: Member): number | undefined {
  const { phase, tallies } = group ?? {};
  if (report === undefined || tallies === undefined || phase?.state !== 'agreed') return undefined;
  const agreed = tallies.compared(report.values).tokens_per_block;
  return agreed === report.values.tokens_per_block || typeof agreed !== 'number' ? undefined : agreed;
}

/** A13, A14: whether a member dissents by what is learned late, and not by its block size. */
export function isLateDissent(state: AgreementState, { group, report }: Member): boolean {
  if (group === undefined || report === undefined) return false;
  const compared = group.tallies.judged(report.values, report.serving.role === 'decode');
  const field = firstDifference(compared, group.tallies.reference, comparedFields(state.options));
  return field !== undefined && isLateField(field);
}
