import type { MemberOffer } from '../../../core/agreement/state/judgement.js';
import type { GroupView, MemberState, MemberView } from '../../../core/agreement/view/snapshot.js';
import type { ContractValues } from '../../../core/contract/contract-values.js';
import { WIRE_CACHE_VIEWS } from '../../../core/contract/wire/cache-view.js';
import { clip } from '../../../core/text/lists.js';
import { HashUnit } from '../../../gen/kvaccord/v1/capabilities.js';
import type { AgreedContract, Agreement, Member } from '../../../gen/kvaccord/v1/fleet.js';
import {
  MemberState as WireMemberState,
  MemberOffer as WireOffer,
  AgreementState as WireState,
} from '../../../gen/kvaccord/v1/fleet.js';
import { Picture as WirePicture } from '../../../gen/kvaccord/v1/kv_events.js';

/** Members that one answer names; `member_count` has the rest. A frontend of 10,000 workers asks `ListWorkers`. */
const MAX_MEMBERS_IN_AGREEMENT = 1_000;

/** Characters of all members' reasons in one answer: with 1,000 names of full length it stays below gRPC's 4 MiB. */
const MAX_REASON_CHARS_IN_AGREEMENT = 262_144;

/** What is left of a member's reason when these are used up; `ListWorkers` has all of it. */
const MAX_SHORT_CHARS = 100;

const STATES: Readonly<Record<GroupView['state'], WireState>> = {
  collecting: WireState.COLLECTING,
  agreed: WireState.AGREED,
  conflict: WireState.CONFLICT,
};

const MEMBER_STATES: Readonly<Record<MemberState, WireMemberState>> = {
  discovered: WireMemberState.DISCOVERED,
  incomplete: WireMemberState.INCOMPLETE,
  reported: WireMemberState.REPORTED,
  conforming: WireMemberState.CONFORMING,
  verified: WireMemberState.VERIFIED,
  dissenting: WireMemberState.DISSENTING,
  draining: WireMemberState.DRAINING,
  lost: WireMemberState.LOST,
};

const OFFERS: Readonly<Record<MemberOffer, WireOffer>> = {
  none: WireOffer.NONE,
  load_only: WireOffer.LOAD_ONLY,
  full: WireOffer.FULL,
};

const HASH_UNITS: Readonly<Record<string, HashUnit>> = {
  token: HashUnit.TOKEN,
  bigram: HashUnit.BIGRAM,
};

/** One member on the wire. */
export function toMember(view: MemberView): Member {
  return {
    target: view.target,
    workerId: view.workerId,
    instanceId: view.instanceId,
    state: MEMBER_STATES[view.state],
    offer: OFFERS[view.offer],
    ...(view.tokensPerBlock === undefined ? {} : { tokensPerBlock: view.tokensPerBlock }),
    source: view.source,
    reason: view.reason,
    unverifiedFields: [...view.unverifiedFields],
    picture: view.cacheView === undefined ? WirePicture.UNSPECIFIED : WIRE_CACHE_VIEWS[view.cacheView],
    pictureReason: view.cacheViewReason,
    ejectedReason: view.ejectedReason,
    ...(view.rehashedTokensPerBlock === undefined
      ? {}
      : { rehashedTokensPerBlock: view.rehashedTokensPerBlock }),
    ...(view.declaredTokensPerBlock === undefined
      ? {}
      : { declaredTokensPerBlock: view.declaredTokensPerBlock }),
  };
}

/** Members as an agreement names them: all, or the first of them with those that something is said of. */
export function toMembers(views: readonly MemberView[]): Member[] {
  let left = MAX_REASON_CHARS_IN_AGREEMENT;
  const clipTo = (text: string): string => {
    const clipped = clip(text, Math.max(MAX_SHORT_CHARS, left));
    left -= clipped.length;
    return clipped;
  };
  return namedMembers(views).map((view) => {
    const member = toMember(view);
    return {
      ...member,
      reason: clipTo(member.reason),
      ejectedReason: clipTo(member.ejectedReason),
      pictureReason: clipTo(member.pictureReason),
    };
  });
}

function namedMembers(views: readonly MemberView[]): readonly MemberView[] {
  if (views.length <= MAX_MEMBERS_IN_AGREEMENT) return views;
  const isPlain = ({ reason, cacheViewReason, ejectedReason, declaredTokensPerBlock }: MemberView): boolean =>
    reason === '' && cacheViewReason === '' && ejectedReason === '' && declaredTokensPerBlock === undefined;
  const special = views.filter((view) => !isPlain(view));
  return [...special, ...views.filter(isPlain)].slice(0, MAX_MEMBERS_IN_AGREEMENT);
}

/** One group on the wire. `changedAtMs` is wall-clock time, for people. */
export function toAgreement(view: GroupView, changedAtMs: number): Agreement {
  return {
    group: view.group,
    state: STATES[view.state],
    epoch: BigInt(view.epoch),
    gateOpen: view.gateOpen,
    contract: view.values === undefined ? undefined : toContract(view.values, view),
    reasons: view.reasons.map(({ code, text }) => ({ code, text })),
    members: toMembers(view.members),
    memberCount: view.members.length,
    changedAt: new Date(changedAtMs),
    routingMode: view.routingMode,
    ready: view.ready,
    partialReason: view.partialReason,
  };
}

function text<Key extends string>(key: Key, value: string | number | undefined): { [K in Key]?: string } {
  return (value === undefined ? {} : { [key]: String(value) }) as { [K in Key]?: string };
}

function toContract(values: ContractValues, view: GroupView): AgreedContract {
  return {
    tokensPerBlock: Number(values.tokens_per_block ?? 0),
    hashUnit: HASH_UNITS[String(values.hash_unit)] ?? HashUnit.UNSPECIFIED,
    ...text('modelRevision', values.model_revision),
    ...text('tokenizerFingerprint', values.tokenizer_fingerprint),
    ...text('hashAlgorithm', values.hash_algorithm),
    ...text('hashSeed', values.hash_seed),
    digest: view.digest,
    isOverride: view.isOverride,
  };
}
