import { constants } from 'node:os';
import { exitSoon } from '../streams/standard-streams.js';

/** Signals by which a platform or a person asks a process to end; SIGHUP is that of a terminal that was closed. */
export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'];

/** The reason in an aborted `AbortSignal` when a signal ended the process. */
export class StoppedBySignal extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.name = 'StoppedBySignal';
    this.signal = signal;
  }
}

/** The exit code of a process that signal n ended, as shells give it: 128+n. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/**
 * Calls `onSignal` whenever one of `signals` reaches this process, in place of
 * the platform's own action. The function that comes back ends that.
 */
export function listenForSignals(
  signals: readonly NodeJS.Signals[],
  onSignal: (signal: NodeJS.Signals) => void,
): () => void {
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/**
 * Keeps SIGUSR1 from opening the inspector, which is what Node does with it: a
 * debugger can read every secret of the process. A listener takes the place of
 * Node's own action; `node --inspect` still opens one. Node has a flag for it,
 * `--disable-sigusr1` (22.14, 23.7 and later; others refuse to start with it), which also
 * covers the moment before this call, and the image sets it.
 */
export function keepInspectorShut(): void {
  process.on('SIGUSR1', () => undefined);
}

/**
 * Aborts `controller` at the first stop signal, with a `StoppedBySignal` as
 * the reason, so that everything can end in order. The second one ends the
 * process immediately with 128+n: a person who asks twice does not want to wait.
 */
export function abortOnStopSignals(
  controller: AbortController,
  modules: StopModules = thisProcess,
): () => void {
  return modules.listenForSignals(STOP_SIGNALS, (signal) => {
    if (controller.signal.aborted) modules.exit(exitCodeOfSignal(signal));
    else controller.abort(new StoppedBySignal(signal));
  });
}

/**
 * Ends the process immediately, with 128+n, at the next stop signal: for when nothing is left that
 * could end in order. To be called before the listeners of `abortOnStopSignals` go: a signal that
 * came while the program was busy is lost when it has no listener at its turn of the event loop.
 */
export function exitOnStopSignals(modules: StopModules = thisProcess): void {
  modules.listenForSignals(STOP_SIGNALS, (signal) => modules.exit(exitCodeOfSignal(signal)));
}

/** What the two above do to a process; tests put their own in. */
export interface StopModules {
  readonly listenForSignals: typeof listenForSignals;
  readonly exit: (code: number) => void;
}

const thisProcess: StopModules = { listenForSignals, exit: (code) => void exitSoon(code, true) };
