import type { AgreementEvent } from '../state/events.js';
import type { Step } from '../state/step.js';
import { evaluateAll } from './settle-groups.js';

/** P2: what the decode side found of a prefill worker's side channel. */
export function takeChannelAnswer(
  step: Step,
  { group: name, question, answer }: AgreementEvent & { readonly type: 'channel_answer' },
): void {
  const { state } = step;
  const pairs = state.groups.get(name)?.pairs;
  if (pairs === undefined) return;
  pairs.setChannel(question.prefillTarget, question.prefillInstanceId, question.class, answer);
  noteChange(step);
}

/** The book of pairs changed: gates may open, and what is shown of them is another. */
export function noteChange(step: Step): void {
  const { state } = step;
  state.version += 1;
  evaluateAll(step);
}

/** P6: pairs whose pause is over are tried again. */
export function bringPairsBack(step: Step): void {
  const { state, nowMs, effects } = step;
  for (const { name, pairs } of state.groups.values()) {
    for (const { level, code, worker, message } of pairs.advance(nowMs)) {
      state.version += 1;
      effects.push({ type: 'log', level, code, group: name, worker, message });
    }
  }
}
