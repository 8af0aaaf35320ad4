import { judgeProfiles, type ProfileJudgement } from './judge-profiles.js';
import { classAcrossHosts, classOnHost, isSameHost } from './pair-class.js';
import { type Entry, MAX_PROFILES_OF_ROLE } from './pair-role.js';
import type { PairClass, PairPolicy, PairState } from './pair-words.js';
import type { ChannelAnswer } from './side-channels.js';

const OVERFLOW: ProfileJudgement = {
  state: 'cannot_say',
  reason: `workers of this role report more than ${MAX_PROFILES_OF_ROLE} different transfer contracts`,
  differences: [],
};

/** What two profiles come to; judged once for all members that have them. */
export function judgementOf(prefill: Entry, decode: Entry): ProfileJudgement {
  const [ours, theirs] = [prefill.profileClass, decode.profileClass];
  if (ours.profile === undefined || theirs.profile === undefined) return OVERFLOW;
  const known = ours.judgements.get(theirs);
  if (known !== undefined) return known;
  const made = judgeProfiles(ours.profile, theirs.profile);
  ours.judgements.set(theirs, made);
  return made;
}

/** How near two members are; worked out once for those on one host. */
export function classOfEntries(prefill: Entry, decode: Entry): PairClass {
  const known = prefill.near.get(decode);
  if (known !== undefined) return known;
  const [ours, theirs] = [prefill.member.position, decode.member.position];
  if (!isSameHost(ours, theirs)) return classAcrossHosts(ours, theirs);
  const made = classOnHost(ours, theirs).class;
  prefill.near.set(decode, made);
  decode.near.set(prefill, made);
  return made;
}

/** What is known of a prefill member's side channel as seen from a class of its pairs. */
export function channelFrom(prefill: Entry, pairClass: PairClass): ChannelAnswer['state'] {
  for (const { state } of prefill.member.sideChannels) {
    if (state === 'silent' || state === 'unreachable') return 'unreachable';
  }
  return prefill.channel.get(pairClass)?.state ?? 'unknown';
}

/** The state of a pair that is not set aside. */
export function stateBeforeService(
  profiles: ProfileJudgement['state'],
  channel: ChannelAnswer['state'],
): Exclude<PairState, 'set_aside'> {
  if (profiles === 'cannot_pair' || channel === 'unreachable') return 'cannot_pair';
  return profiles === 'can_pair' && channel === 'reachable' ? 'can_pair' : 'cannot_say';
}

/** P2, P4: the state of a pair. */
export function stateOfEntries(prefill: Entry, decode: Entry): PairState {
  const { state: profiles } = judgementOf(prefill, decode);
  if (profiles === 'cannot_pair') return profiles;
  const state = stateBeforeService(profiles, channelFrom(prefill, classOfEntries(prefill, decode)));
  if (state === 'cannot_pair') return state;
  return prefill.service.get(decode)?.asideUntilMs === undefined ? state : 'set_aside';
}

/** P4: whether requests may be sent over a pair that is not set aside, by what is known of it and the policy. */
export function mayUseBy(
  profiles: ProfileJudgement['state'],
  channel: ChannelAnswer['state'],
  policy: PairPolicy,
): boolean {
  if (policy === 'report') return true;
  const state = stateBeforeService(profiles, channel);
  if (state === 'can_pair') return true;
  return state === 'cannot_say' && policy === 'warn' && channel !== 'pending';
}

/** P4: whether requests may be sent over a pair by its state and the policy. */
export function mayUseEntries(prefill: Entry, decode: Entry, policy: PairPolicy): boolean {
  return stateOfEntries(prefill, decode) !== 'set_aside' && mayWork(prefill, decode, policy);
}

/** P3: whether the gate may open for a pair. One that is set aside counts: its requests go to one worker meanwhile. */
export function mayWork(prefill: Entry, decode: Entry, policy: PairPolicy): boolean {
  const channel = channelFrom(prefill, classOfEntries(prefill, decode));
  return mayUseBy(judgementOf(prefill, decode).state, channel, policy);
}
