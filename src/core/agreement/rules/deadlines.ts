import type { AgreementState, Group } from '../state/state.js';
import { quorumAtMs } from './missing.js';
import { settledAtMs } from './phase.js';

/**
 * The earliest deadline that no tick has carried out yet, in monotonic
 * milliseconds; undefined while nothing waits for time to pass. A deadline that
 * has passed is kept until a tick comes, however late that is: an event that
 * lands between a deadline and its timer must not cancel it. `lastWas` is what
 * happened last: an event can make a deadline of the very moment at which a
 * tick ran before it, where a wait is zero.
 */
export function earliestDeadlineMs(
  state: AgreementState,
  lastWas: 'tick' | 'another event',
): number | undefined {
  let earliestMs = Number.POSITIVE_INFINITY;
  for (const deadlineMs of deadlinesMs(state)) {
    // A wait that is over but was not enough stays in the past: its tick has been.
    const isDone = lastWas === 'tick' ? deadlineMs <= state.tickedAtMs : deadlineMs < state.tickedAtMs;
    if (!isDone && deadlineMs < earliestMs) earliestMs = deadlineMs;
  }
  return earliestMs === Number.POSITIVE_INFINITY ? undefined : earliestMs;
}

function* deadlinesMs(state: AgreementState): Generator<number> {
  const [longestLost] = state.lost;
  if (longestLost?.lostSinceMs !== undefined) yield longestLost.lostSinceMs + state.options.graceMs;
  for (const { turnedAwayUntilMs } of state.turnedAway)
    if (turnedAwayUntilMs !== undefined) yield turnedAwayUntilMs;
  if (state.warnMissingAtMs !== undefined) yield state.warnMissingAtMs;
  for (const group of state.groups.values()) yield* groupDeadlinesMs(state, group);
}

function* groupDeadlinesMs(state: AgreementState, group: Group): Generator<number> {
  const { options } = state;
  const { phase, candidate, emptySinceMs } = group;
  if (emptySinceMs !== undefined) yield emptySinceMs + options.graceMs;
  if (group.pairs.dueAtMs !== undefined) yield group.pairs.dueAtMs;
  if (candidate !== undefined) yield candidate.sinceMs + options.settleMs;
  if (phase.state === 'conflict' && phase.repeatAtMs !== undefined) yield phase.repeatAtMs;
  if (phase.state === 'agreed' || group.tallies.deciding === 0) return;
  if (options.onMissing === 'quorum') yield quorumAtMs(state, group);
  if (options.overrideTokensPerBlock !== undefined) return;
  yield settledAtMs(state);
  if (options.onMissing === 'proceed') yield group.collectingSinceMs + options.collectTimeoutMs;
}
