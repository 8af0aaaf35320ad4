import { closeSync, openSync } from 'node:fs';
import { type Clock, sleep } from '../clock.js';
import type { Logger } from '../logger.js';

/**
 * Descriptors that must be free before a part is loaded: a part is a few files
 * that are read side by side, and ZeroMQ opens some of its own.
 */
const ROOM = 16;

/** How often it is looked whether there is room, in milliseconds. */
const LOOK_MS = 1_000;

/** Whether this process could open as many files as a part wants, right now. */
export type HasRoom = () => boolean;

/** As the system says: opens them, and closes them again; about 0.1 ms. */
export const hasDescriptorRoom: HasRoom = () => {
  const opened: number[] = [];
  try {
    while (opened.length < ROOM) opened.push(openSync('/dev/null', 'r'));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Whatever else fails here says nothing about files.
    return code !== 'EMFILE' && code !== 'ENFILE';
  } finally {
    for (const fd of opened) closeSync(fd);
  }
};

export interface LoadPartModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Default: `hasDescriptorRoom`. */
  readonly hasRoom?: HasRoom;
}

/**
 * Loads a part of the program when there is room for it, and waits for that
 * while there is not: Node keeps an `import()` that failed for want of a
 * descriptor for the life of the process, so that it must not be tried before
 * (seen on 20.20). Undefined when `signal` aborts meanwhile.
 */
export async function loadPart<Part>(
  load: () => Promise<Part>,
  { clock, logger, signal, hasRoom = hasDescriptorRoom }: LoadPartModules,
): Promise<Part | undefined> {
  let hasReported = false;
  while (!hasRoom()) {
    if (!hasReported)
      logger.error(
        {},
        `A part of the program waits until ${ROOM} more files can be opened: raise the limit of open files (ulimit -n).`,
      );
    hasReported = true;
    await sleep(clock, LOOK_MS, signal);
    if (signal.aborted) return undefined;
  }
  return load();
}
