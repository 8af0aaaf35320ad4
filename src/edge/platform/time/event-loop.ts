import type { Timer } from '../clock.js';

/**
 * Long work in slices: between two of them the process serves everybody else.
 * A module, so that tests decide when a turn comes.
 */
export interface EventLoop {
  /** Calls `run` once, in a later turn of the event loop, after sockets were looked at. */
  soon(run: () => void): Timer;
}

/** The event loop's own turns. They keep the process alive. */
export const systemEventLoop: EventLoop = {
  soon(run) {
    const handle = setImmediate(run);
    return { clear: () => clearImmediate(handle) };
  },
};
