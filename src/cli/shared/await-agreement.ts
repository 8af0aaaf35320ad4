import { onOneLine } from '../../core/text/printable.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { AgreementSource } from '../../fleet/aggregator/agreement-source.js';
import { judgeAgreements, type Question } from '../../fleet/aggregator/verdict.js';
import type { LiveLine } from './live-line.js';

/**
 * How long a conflict has to stand before it is the outcome, in milliseconds.
 * Reports and first events come within moments of each other, and the person
 * who fixes the workers wants all of them named together.
 */
const GATHER_MS = 1_000;

/** How often the log names the workers that are waited for, in milliseconds. */
const REMIND_MS = 5_000;

/** How waiting for an agreement ended. */
export type WaitOutcome =
  | { readonly type: 'agreed'; readonly tokensPerBlock: number; readonly groups: readonly string[] }
  | { readonly type: 'conflict'; readonly text: string }
  /** Time is up while workers are still missing. */
  | { readonly type: 'timed_out'; readonly text: string }
  /** Time is up and no worker could be reached. */
  | { readonly type: 'unreachable'; readonly text: string }
  /** The question is wrong; waiting cannot help. */
  | { readonly type: 'refused'; readonly text: string };

export interface WaitOptions extends Question {
  /** 0 waits for ever. */
  readonly timeoutMs: number;
}

export interface WaitModules {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Where a person watches; undefined shows nothing on the way. */
  readonly progress: LiveLine | undefined;
  /** Called every 5 s with the workers that are waited for, and why. Default: nothing is called. */
  readonly onWaiting?: (text: string) => void;
}

/** Waits until the source's agreements are one answer. Rejects with `signal.reason` when it aborts. */
export function awaitAgreement(
  source: AgreementSource,
  options: WaitOptions,
  modules: WaitModules,
): Promise<WaitOutcome> {
  const { clock, signal, progress, onWaiting } = modules;
  return new Promise((resolve, reject) => {
    let timer: Timer | undefined;
    let gathering: Timer | undefined;
    let reminder: Timer | undefined;
    /** As it was last seen while it is gathered. */
    let conflict: WaitOutcome;
    const leave = source.watch(() => look());
    const finish = (settle: () => void): void => {
      timer?.clear();
      gathering?.clear();
      reminder?.clear();
      leave();
      leaveSignal();
      progress?.clear();
      settle();
    };
    const stop = (): void => finish(() => reject(signal.reason));
    const look = (): void => {
      if (source.refusal !== undefined) {
        const text = source.refusal;
        finish(() => resolve({ type: 'refused', text }));
        return;
      }
      const verdict = judgeAgreements(source.agreements, options);
      if (verdict.type === 'agreed') {
        finish(() => resolve(verdict));
        return;
      }
      if (verdict.type === 'conflict') {
        conflict = verdict;
        gathering ??= clock.setTimer(GATHER_MS, () => finish(() => resolve(conflict)));
      } else {
        gathering?.clear();
        gathering = undefined;
      }
      progress?.show(source);
    };
    if (signal.aborted) {
      stop();
      return;
    }
    const leaveSignal = onAbort(signal, stop);
    if (options.timeoutMs > 0) {
      timer = clock.setTimer(options.timeoutMs, () => finish(() => resolve(timedOut(source, options))));
    }
    const remind = (): void => {
      const text = waitingMessage(source, options);
      if (text !== '') onWaiting?.(text);
      reminder = clock.setTimer(REMIND_MS, remind);
    };
    if (onWaiting !== undefined) reminder = clock.setTimer(REMIND_MS, remind);
    look();
  });
}

/** Which workers are waited for, on one line; empty where that is about to be an outcome. */
function waitingMessage(source: AgreementSource, options: WaitOptions): string {
  if (source.problem !== undefined) return onOneLine(source.problem);
  const verdict = judgeAgreements(source.agreements, options);
  return verdict.type === 'pending' ? onOneLine(verdict.text) : '';
}

function timedOut(source: AgreementSource, options: WaitOptions): WaitOutcome {
  if (source.problem !== undefined) return { type: 'unreachable', text: source.problem };
  const verdict = judgeAgreements(source.agreements, options);
  return verdict.type === 'pending' ? { type: 'timed_out', text: verdict.text } : verdict;
}
