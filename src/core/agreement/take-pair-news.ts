import type { AgreementEffect, AgreementEvent } from './events.js';
import { evaluateAll } from './settle-groups.js';
import type { AgreementState } from './state.js';

/** P2: what the decode side found of a prefill worker's side channel. */
export function takeChannelAnswer(
  state: AgreementState,
  { group: name, question, answer }: AgreementEvent & { readonly type: 'channel_answer' },
  nowMs: number,
  effects: AgreementEffect[],
): void {
  const pairs = state.groups.get(name)?.pairs;
  if (pairs === undefined) return;
  pairs.setChannel(question.prefillTarget, question.prefillInstanceId, question.class, answer);
  noteChange(state, nowMs, effects);
}

/** The book of pairs changed: gates may open, and what is shown of them is another. */
export function noteChange(state: AgreementState, nowMs: number, effects: AgreementEffect[]): void {
  state.version += 1;
  evaluateAll(state, nowMs, effects);
}

/** P6: pairs whose pause is over are tried again. */
export function bringPairsBack(state: AgreementState, nowMs: number, effects: AgreementEffect[]): void {
  for (const { name, pairs } of state.groups.values()) {
    for (const { level, code, worker, message } of pairs.advance(nowMs)) {
      state.version += 1;
      effects.push({ type: 'log', level, code, group: name, worker, message });
    }
  }
}
