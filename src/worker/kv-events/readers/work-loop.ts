import { type Clock, sleep } from '../../../edge/platform/clock.js';

/** Milliseconds between a fault of this program and the next attempt. */
const RECOVERY_MS = 1_000;

/** Milliseconds of work after which other work of the process goes on. */
const WORK_SLICE_MS = 5;

export interface WorkLoopModules {
  readonly clock: Clock;
  /** Ends the loop. */
  readonly signal: AbortSignal;
  /** Begins the next piece of work; undefined when there is none. */
  readonly next: () => Promise<unknown> | undefined;
  /** A piece of work failed: what it was about is to be put right. The loop goes on after a pause, so that a fault that stays costs little. */
  readonly onFault: (error: unknown) => void;
}

/** Does one piece of work after the other, and waits while there is none. */
export class WorkLoop {
  readonly #modules: WorkLoopModules;
  #onWork: (() => void) | undefined;
  #busySinceMs = 0;

  constructor(modules: WorkLoopModules) {
    this.#modules = modules;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { clock, signal, next, onFault } = this.#modules;
    this.#busySinceMs = clock.monotonicMs();
    while (!signal.aborted) {
      try {
        await (next() ?? this.#idle());
      } catch (error) {
        onFault(error);
        await sleep(clock, RECOVERY_MS, signal);
      }
    }
  }

  /** There may be work, or the signal aborted. */
  wakeUp(): void {
    this.#onWork?.();
  }

  /** For work to call between its steps: lets other work of the process go on when this loop worked for a while. */
  async rest(): Promise<void> {
    const { clock, signal } = this.#modules;
    if (clock.monotonicMs() - this.#busySinceMs < WORK_SLICE_MS) return;
    await sleep(clock, 0, signal);
    this.#busySinceMs = clock.monotonicMs();
  }

  async #idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onWork = resolve;
      if (this.#modules.signal.aborted) resolve();
    });
    this.#onWork = undefined;
    this.#busySinceMs = this.#modules.clock.monotonicMs();
  }
}
