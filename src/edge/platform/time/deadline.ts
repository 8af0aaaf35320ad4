import type { Clock } from '../clock.js';
import { onAbort } from './on-abort.js';

/** What bounds a piece of work. */
export interface Deadline {
  /** Milliseconds until the work is ended. */
  readonly timeoutMs: number;
  /** Ends it earlier. */
  readonly signal?: AbortSignal | undefined;
}

/** Why a piece of work was ended. */
export type DeadlineEnd = 'timeout' | 'aborted';

/**
 * Calls `onEnd` once: after `timeoutMs`, or when `signal` aborts, which is
 * before this returns where it has aborted already. The function that comes
 * back ends the watching and may be called more than once.
 */
export function watchDeadline(
  { timeoutMs, signal }: Deadline,
  { clock }: { readonly clock: Clock },
  onEnd: (why: DeadlineEnd) => void,
): () => void {
  if (signal?.aborted === true) {
    onEnd('aborted');
    return () => undefined;
  }
  const stop = (): void => {
    timer.clear();
    leave();
  };
  const end = (why: DeadlineEnd): void => {
    stop();
    onEnd(why);
  };
  const leave = onAbort(signal, () => end('aborted'));
  const timer = clock.setTimer(timeoutMs, () => end('timeout'));
  return stop;
}

/**
 * Runs `work` under a signal that aborts after `timeoutMs`, with the reason
 * that `late` makes, or together with `signal`, with its reason. The work has
 * to obey it: its outcome is the outcome.
 */
export async function withDeadline<Result>(
  { timeoutMs, signal, late }: Deadline & { readonly late?: () => unknown },
  modules: { readonly clock: Clock },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const own = new AbortController();
  const stop = watchDeadline({ timeoutMs, signal }, modules, (why) =>
    own.abort(why === 'timeout' ? late?.() : signal?.reason),
  );
  try {
    return await work(own.signal);
  } finally {
    stop();
  }
}
