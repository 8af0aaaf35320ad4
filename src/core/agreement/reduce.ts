import { earliestDeadlineMs } from './rules/deadlines.js';
import { forget, retryTurnedAway } from './rules/members.js';
import type { AgreementEffect, AgreementEvent } from './state/events.js';
import type { AgreementState } from './state/state.js';
import type { Step } from './state/step.js';
import { change, endGroup, evaluateAll } from './take/settle-groups.js';
import { takeListing } from './take/take-listing.js';
import { takeCacheView, takeDoubt, takeEjection, takeMismatchedEvents } from './take/take-news.js';
import { bringPairsBack, noteChange, takeChannelAnswer } from './take/take-pair-news.js';
import { markAlive, markBroken, refuseReport, takeReport } from './take/take-report.js';

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
  const step: Step = { state, nowMs, effects };
  const isOverdue = state.dueAtMs !== undefined && state.dueAtMs <= nowMs;
  if (isOverdue || event.type === 'tick') tick(step);
  apply(step, event);
  state.dueAtMs = earliestDeadlineMs(state, event.type === 'tick' ? 'tick' : 'another event');
  return effects;
}

function apply(step: Step, event: AgreementEvent): void {
  const { state } = step;
  switch (event.type) {
    case 'listed':
      takeListing(step, event);
      break;
    case 'discovery':
      if (state.discoveryProblem !== event.problem) state.version += 1;
      state.discoveryProblem = event.problem;
      break;
    case 'report':
      takeReport(step, event.target, event.report);
      break;
    case 'report_refused':
      refuseReport(step, event.target, event.problems);
      break;
    case 'alive':
      markAlive(step, event.target);
      break;
    case 'broken':
      markBroken(step, event.target, event.reason);
      break;
    case 'cache_view':
      takeCacheView(step, event);
      break;
    case 'doubt':
      takeDoubt(step, event);
      break;
    case 'ejection':
      takeEjection(state, event);
      break;
    case 'mismatched_events':
      takeMismatchedEvents(step, event);
      break;
    case 'channel_answer':
      takeChannelAnswer(step, event);
      break;
    case 'pairs_changed':
      noteChange(step);
      break;
    case 'tick':
      break;
  }
}

function tick(step: Step): void {
  const { state, nowMs, effects } = step;
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
    endGroup(step, group);
  }
  retryTurnedAway(step);
  bringPairsBack(step);
  evaluateAll(step);
}
