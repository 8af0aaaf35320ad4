import { admit, forget, leave, recount, uncount } from '../rules/members.js';
import { countCacheKnowledge } from '../rules/routing.js';
import { type AgreementEvent, isOtherIdentity } from '../state/events.js';
import type { Member } from '../state/state.js';
import type { Step } from '../state/step.js';
import { change, evaluateAll } from './settle-groups.js';

/** What discovery lists now: members come, change and go. */
export function takeListing(
  step: Step,
  { members: listed, expected }: AgreementEvent & { type: 'listed' },
): void {
  const { state, nowMs } = step;
  const identities = new Map(listed.map(({ target, identity }) => [target, identity]));
  if (expected?.count !== state.expected?.count || expected?.origin !== state.expected?.origin) {
    state.expected = expected;
    state.version += 1;
  }
  for (const member of [...state.members.values()]) {
    const { target } = member;
    // A8: who comes under the name of one that is gone is another member, and has said nothing yet.
    const isAnother = isOtherIdentity(member.identity, identities.get(target));
    if (!identities.has(target) || isAnother) remove(step, member);
  }
  for (const { target, draining, identity, unscheduled = false } of listed) {
    const member = state.members.get(target);
    if (member !== undefined) member.identity ??= identity;
    if (member === undefined) {
      const added: Member = {
        target,
        identity,
        listedAtMs: nowMs,
        listedDraining: draining,
        unscheduled,
        received: undefined,
        report: undefined,
        seen: undefined,
        problem: 'has not reported yet',
        lostSinceMs: undefined,
        expired: false,
        tally: undefined,
        model: '',
        modelChanges: { sinceMs: nowMs, count: 0 },
        turnedAway: '',
        turnedAwayUntilMs: undefined,
        group: undefined,
        cacheView: undefined,
        doubt: undefined,
        ejection: '',
        held: '',
        dissentLoggedFor: '',
        mismatchLoggedFor: '',
        noPartnerLoggedFor: '',
        remarkLoggedFor: '',
        tokensLoggedFor: '',
        eventsLoggedFor: '',
        rehashLoggedFor: '',
        usableInstance: '',
      };
      state.members.set(target, added);
      state.lastNewMemberMs = nowMs;
      recount(state, added);
      state.version += 1;
    } else if (member.listedDraining !== draining || member.unscheduled !== unscheduled) {
      change(state, member, () => {
        member.listedDraining = draining;
        member.unscheduled = unscheduled;
      });
    }
  }
  evaluateAll(step);
}

function remove(step: Step, member: Member): void {
  const { state, nowMs, effects } = step;
  uncount(state, member);
  forget(member, effects);
  state.lost.delete(member);
  const { group } = member;
  leave(member, nowMs);
  for (const other of group?.misreading ?? []) countCacheKnowledge(state, other);
  admit(state, member);
  state.members.delete(member.target);
  state.version += 1;
}
