import { isTokensPerBlock } from '../../contract/evidence/tokens-per-block.js';
import { EvidenceSource } from '../../contract/wire/enums.js';
import { clip } from '../../text/lists.js';
import { MAX_MEMBER_CHARS } from '../messages/messages.js';
import { judgeMember } from '../rules/judge-member.js';
import { updateMode } from '../rules/routing.js';
import type { AgreementEvent } from '../state/events.js';
import { conforms } from '../state/judgement.js';
import { withSeenWidth } from '../state/observed.js';
import type { AgreementState, Member } from '../state/state.js';
import type { Step } from '../state/step.js';
import { change, settleGroups } from './settle-groups.js';

/**
 * Whether news of `instanceId` is of no use, because the
 * present instance has already had news. What comes before the first
 * report of its instance is kept for it.
 */
function isOutdated(
  member: Member,
  held: { readonly instanceId: string } | undefined,
  instanceId: string,
): boolean {
  const present = member.report?.instanceId;
  return instanceId !== present && held !== undefined && held.instanceId === present;
}

/** How much the index knows of a worker's cache. */
export function takeCacheView(
  step: Step,
  { target, instanceId, level, reason: fullReason }: AgreementEvent & { type: 'cache_view' },
): void {
  const { state } = step;
  const member = state.members.get(target);
  if (member === undefined || isOutdated(member, member.cacheView, instanceId)) return;
  const reason = level === 'exact' ? '' : clip(fullReason, MAX_MEMBER_CHARS);
  const held = member.cacheView;
  if (held?.instanceId === instanceId && held.level === level && held.reason === reason) return;
  change(state, member, () => {
    member.cacheView = { instanceId, level, reason };
  });
  if (member.group !== undefined) updateMode(step, member.group);
}

/** What results say against a worker's cache view; an empty reason ends it. */
export function takeDoubt(
  step: Step,
  { target, instanceId, reason: fullReason }: AgreementEvent & { type: 'doubt' },
): void {
  const { state } = step;
  const member = state.members.get(target);
  if (member === undefined || isOutdated(member, member.doubt, instanceId)) return;
  const reason = clip(fullReason, MAX_MEMBER_CHARS);
  const held = member.doubt;
  if (
    reason === ''
      ? held?.instanceId !== instanceId
      : held?.instanceId === instanceId && held.reason === reason
  )
    return;
  change(state, member, () => {
    member.doubt = reason === '' ? undefined : { instanceId, reason };
  });
  if (member.group !== undefined) updateMode(step, member.group);
}

/** Why the router gives a worker no requests; an empty reason ends it. */
export function takeEjection(
  state: AgreementState,
  { target, reason: fullReason }: AgreementEvent & { type: 'ejection' },
): void {
  const member = state.members.get(target);
  const reason = clip(fullReason, MAX_MEMBER_CHARS);
  if (member === undefined || member.ejection === reason) return;
  change(state, member, () => {
    member.ejection = reason;
  });
}

/** V3: KV events of another width came, and were not applied. */
export function takeMismatchedEvents(
  step: Step,
  { target, instanceId, tokensPerBlock, count }: AgreementEvent & { type: 'mismatched_events' },
): void {
  const { state, effects } = step;
  const member = state.members.get(target);
  if (member === undefined) return;
  if (member.group !== undefined) {
    const source = EvidenceSource.OBSERVED_EVENT;
    const { workerId = '' } = member.report ?? {};
    effects.push({ type: 'mismatch', group: member.group.name, worker: target, workerId, source, count });
  }
  // A width that no engine can have is counted, and agrees with no member (R1).
  if (!isTokensPerBlock(tokensPerBlock) || isOutdated(member, member.seen, instanceId)) return;
  const { seen, received, group } = member;
  if (seen?.instanceId === instanceId && seen.tokensPerBlock === tokensPerBlock) return;
  change(state, member, () => {
    member.seen = { instanceId, tokensPerBlock };
    if (received !== undefined) member.report = withSeenWidth(received, member.seen);
  });
  // The events themselves were counted above: the instance is not counted once more.
  const isCounted = member.tally !== undefined && !conforms(state, member);
  if (isCounted && member.report?.instanceId === instanceId) member.dissentLoggedFor = instanceId;
  judgeMember(step, member);
  settleGroups(step, group, group);
}
