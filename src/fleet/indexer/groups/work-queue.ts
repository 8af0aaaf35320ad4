import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { StreamRefusals } from '../../../edge/platform/streams/stream-refusals.js';
import type { EventLoop } from '../../../edge/platform/time/event-loop.js';

/** Something with work that comes in small steps. */
export interface QueuedTask {
  /** Does one step; false when there is nothing left to do now. */
  step(): boolean;
  /** `step` threw, and is not called again before the next `add`: ends what it was at. Default: nothing more. */
  failed?(error: unknown): void;
}

/**
 * How long work goes on before the process serves all others: thousands of
 * snapshots at the start of a fleet must not hold up a probe.
 */
const SLICE_MS = 4;

/** Steps of one before the next has its turn: enough that switching costs nothing, few enough to be fair. */
const STEPS_IN_A_ROW = 16;

/** Shares the event loop fairly between all that has something to do. */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #turns: EventLoop;
  readonly #refusals: StreamRefusals;
  /** Who has something to do, in the order of their turns. */
  readonly #ready = new Set<QueuedTask>();
  #next: Timer | undefined;

  constructor(modules: {
    readonly clock: Clock;
    readonly turns: EventLoop;
    /** Counts and logs what fails in a step. */
    readonly refusals: StreamRefusals;
  }) {
    this.#clock = modules.clock;
    this.#turns = modules.turns;
    this.#refusals = modules.refusals;
  }

  /** `task` has something to do. May be called again. */
  add(task: QueuedTask): void {
    this.#ready.add(task);
    this.#next ??= this.#turns.soon(this.#run);
  }

  /** Removes an entry; harmless when it was not in. */
  delete(task: QueuedTask): void {
    this.#ready.delete(task);
  }

  /** Ends all work. */
  close(): void {
    this.#ready.clear();
    this.#next?.clear();
    this.#next = undefined;
  }

  readonly #run = (): void => {
    const endMs = this.#clock.monotonicMs() + SLICE_MS;
    // Those that are added on the way, and those put to the end, come up in the same walk.
    for (const task of this.#ready) {
      this.#ready.delete(task);
      if (this.#work(task)) this.#ready.add(task);
      if (this.#clock.monotonicMs() >= endMs) break;
    }
    this.#next = this.#ready.size === 0 ? undefined : this.#turns.soon(this.#run);
  };

  /** Whether there is more to do. */
  #work(task: QueuedTask): boolean {
    try {
      for (let step = 0; step < STEPS_IN_A_ROW; step += 1) {
        if (!task.step()) return this.#ready.has(task);
      }
      return true;
    } catch (error) {
      // One that fails ends alone: the work of all others goes on.
      this.#fail(task, error);
      return this.#ready.has(task);
    }
  }

  #fail(task: QueuedTask, error: unknown): void {
    if (task.failed === undefined) this.#refusals.fault(undefined, error);
    else this.#refusals.guard(undefined, () => task.failed?.(error));
  }
}
