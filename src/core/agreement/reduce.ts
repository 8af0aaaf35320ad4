import { earliestDeadlineMs } from './deadlines.js';
import type { AgreementEffect, AgreementEvent } from './events.js';
import { forget, retryTurnedAway } from './members.js';
import { change, endGroup, evaluateAll } from './settle-groups.js';
import type { AgreementState } from './state.js';
import { takeListing } from './take-listing.js';
import { takeCacheView, takeDoubt, takeEjection, takeMismatchedEvents } from './take-news.js';
import { bringPairsBack, noteChange, takeChannelAnswer } from './take-pair-news.js';
import { markAlive, markBroken, refuseReport, takeReport } from './take-report.js';

/**
 * The agreement: what a fleet agrees on when `event` happens at `nowMs`
 * (monotonic milliseconds). Deterministic, with no clock and no I/O of its
 * own. The state belongs to the caller and is changed in place, because a copy
 * of ten thousand members for each event would cost more than the agreement.
 *
 * Call it with a `tick` when `state.dueAtMs` comes. A tick that is due runs
 * before any other event, so that an event that overtakes the caller's timer
 * finds what it would have found after it.
 */
export function reduce(state: AgreementState, event: AgreementEvent, nowMs: number): AgreementEffect[] {
  const effects: AgreementEffect[] = [];
  const isOverdue = state.dueAtMs !== undefined && state.dueAtMs <= nowMs;
  if (isOverdue || event.type === 'tick') tick(state, nowMs, effects);
  apply(state, event, nowMs, effects);
  state.dueAtMs = earliestDeadlineMs(state, event.type === 'tick' ? 'tick' : 'another event');
  return effects;
}

function apply(
  state: AgreementState,
  event: AgreementEvent,
  nowMs: number,
  effects: AgreementEffect[],
): void {
  switch (event.type) {
    case 'listed':
      takeListing(state, event, nowMs, effects);
      break;
    case 'discovery':
      if (state.discoveryProblem !== event.problem) state.version += 1;
      state.discoveryProblem = event.problem;
      break;
    case 'report':
      takeReport(state, event.target, event.report, nowMs, effects);
      break;
    case 'report_refused':
      refuseReport(state, event.target, event.problems, nowMs, effects);
      break;
    case 'alive':
      markAlive(state, event.target, nowMs, effects);
      break;
    case 'broken':
      markBroken(state, event.target, event.reason, nowMs, effects);
      break;
    case 'cache_view':
      takeCacheView(state, event, effects);
      break;
    case 'doubt':
      takeDoubt(state, event, effects);
      break;
    case 'ejection':
      takeEjection(state, event);
      break;
    case 'mismatched_events':
      takeMismatchedEvents(state, event, nowMs, effects);
      break;
    case 'channel_answer':
      takeChannelAnswer(state, event, nowMs, effects);
      break;
    case 'pairs_changed':
      noteChange(state, nowMs, effects);
      break;
    case 'tick':
      break;
  }
}

function tick(state: AgreementState, nowMs: number, effects: AgreementEffect[]): void {
  state.tickedAtMs = nowMs;
  for (const member of state.lost) {
    if (member.lostSinceMs === undefined || nowMs < member.lostSinceMs + state.options.graceMs) break;
    change(state, member, () => {
      state.lost.delete(member);
      member.lostSinceMs = undefined;
      member.expired = true;
      forget(member, effects);
    });
  }
  for (const group of [...state.groups.values()]) {
    if (group.emptySinceMs === undefined || nowMs < group.emptySinceMs + state.options.graceMs) continue;
    endGroup(state, group, effects);
  }
  retryTurnedAway(state, nowMs, effects);
  bringPairsBack(state, nowMs, effects);
  evaluateAll(state, nowMs, effects);
}
