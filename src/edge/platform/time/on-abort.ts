import { setMaxListeners } from 'node:events';

/** Says of a signal that it ends many things at a time: Node takes more than ten listeners for a leak, and warns on standard error. */
export function shareSignal(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}

/**
 * Calls `run` once when `signal` aborts: before it returns, where the signal
 * has aborted already. The function that comes back ends the listening and may
 * be called more than once. Without a signal nothing happens.
 */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) {
    run();
    return () => undefined;
  }
  signal.addEventListener('abort', run, { once: true });
  return () => signal.removeEventListener('abort', run);
}

/** Resolves when `signal` aborts. Never rejects. */
export function untilAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    onAbort(signal, () => resolve(undefined));
  });
}

/** What `promise` resolves with, or undefined as soon as `signal` aborts. Rejects as `promise` does. */
export function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    const leave = onAbort(signal, () => resolve(undefined));
    promise.then(resolve, reject).finally(leave);
  });
}
