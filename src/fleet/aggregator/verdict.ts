import { nameSome } from '../../core/text/lists.js';
import type { AgreedContract, Agreement, Member } from '../../gen/kvaccord/v1/fleet.js';
import { AgreementState, MemberState } from '../../gen/kvaccord/v1/fleet.js';

/** The agreements of all groups, summed up for a client that needs one answer. */
export type Verdict =
  /** Every group has agreed, all on one size. */
  | { readonly type: 'agreed'; readonly tokensPerBlock: number; readonly groups: readonly string[] }
  /** It cannot go on like this; `text` says what to change. */
  | { readonly type: 'conflict'; readonly text: string }
  /** Not yet; `text` says what is missing. */
  | { readonly type: 'pending'; readonly text: string };

/** States of workers that a frontend which goes by declarations would use, whatever is offered here. */
const SERVING: ReadonlySet<MemberState> = new Set([
  MemberState.CONFORMING,
  MemberState.VERIFIED,
  MemberState.DISSENTING,
]);

/**
 * A worker that serves and declares another size than its engine has, or than
 * the fleet agreed on. A frontend that goes by declarations does not know who
 * is kept out here: which of two sizes it takes is up to chance, and all
 * workers of the other are lost to it.
 */
function misleads(member: Member, { contract }: Agreement): boolean {
  if (!SERVING.has(member.state)) return false;
  if (member.declaredTokensPerBlock !== undefined) return true;
  const { tokensPerBlock } = member;
  return tokensPerBlock !== undefined && isAnother(tokensPerBlock, contract);
}

/** An operator who insists on a size is obeyed, whatever workers declare. */
function isAnother(tokensPerBlock: number, contract: AgreedContract | undefined): boolean {
  return contract !== undefined && !contract.isOverride && contract.tokensPerBlock !== tokensPerBlock;
}

function reasonsText(agreement: Agreement): string {
  return agreement.reasons.map(({ text }) => text).join('\n');
}

function unservedMessage(group: string | undefined, agreements: readonly Agreement[]): string {
  if (group === undefined) return 'no worker has reported a model yet';
  const others = agreements.map(({ group: name }) => name).filter((name) => name !== '');
  const served = others.length === 0 ? '' : `; the fleet serves ${nameSome(others, MAX_NAMED)}`;
  return `no worker serves "${group}" yet${served}`;
}

/** Models that one sentence names. */
const MAX_NAMED = 20;

/** The question of a client that needs one answer. */
export interface Question {
  /** Looks at that model alone; undefined looks at all. */
  readonly group: string | undefined;
  /** V5: whether the frontend to start goes by what workers declare. */
  readonly frontendUses: 'observed' | 'declared';
}

/** One answer for `wait` and `exec`, which have one frontend to start. */
export function judgeAgreements(agreements: readonly Agreement[], question: Question): Verdict {
  const { group, frontendUses } = question;
  const relevant = agreements.filter(
    (agreement) => group === undefined || agreement.group === group || agreement.group === '',
  );
  const conflict = relevant.find(({ state }) => state === AgreementState.CONFLICT);
  if (conflict !== undefined) return { type: 'conflict', text: reasonsText(conflict) };

  const agreed = relevant.filter(({ state }) => state === AgreementState.AGREED);
  const open = relevant.filter(({ state }) => state !== AgreementState.AGREED);
  if (open.length > 0) {
    const texts = open.map(reasonsText).filter((text) => text !== '');
    return { type: 'pending', text: texts.join('\n') || 'the workers have not agreed yet' };
  }
  if (agreed.length === 0) return { type: 'pending', text: unservedMessage(group, agreements) };
  if (frontendUses === 'declared') {
    // An aggregator that goes by what it observes agrees all the same.
    const misleading = agreed.flatMap((agreement) =>
      agreement.members.filter((member) => misleads(member, agreement)),
    );
    if (misleading.length > 0) {
      const text = misleading.map(({ reason }) => reason).join('\n');
      return { type: 'conflict', text };
    }
  }
  const sizes = new Set(agreed.map(({ contract }) => contract?.tokensPerBlock ?? 0));
  const [tokensPerBlock = 0] = sizes;
  if (sizes.size > 1) {
    const each = agreed.map(({ group: name, contract }) => `  ${contract?.tokensPerBlock ?? 0}: "${name}"`);
    const text = [
      'The fleet serves several models with different KV block sizes, and one frontend variable can hold one value:',
      ...each,
      'Name the model with --group, and run one frontend for each.',
    ].join('\n');
    return { type: 'conflict', text };
  }
  return { type: 'agreed', tokensPerBlock, groups: agreed.map(({ group: name }) => name) };
}
