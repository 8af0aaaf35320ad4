import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Clock, Timer } from '../clock.js';
import type { Logger } from '../logger.js';

/** How often it is tried whether a descriptor can be had, in milliseconds; one attempt takes some 10 µs. */
const CHECK_MS = 1_000;

/** Shortest time between two lines about the same shortage, in milliseconds. */
const REPEAT_MS = 60_000;

/** Opens something and closes it again; returns the system's code when that fails. */
export type TryDescriptor = () => string | undefined;

/**
 * Says in the log when the process can open no more files: its listeners then
 * go on, but each new connection is closed, and no error is reported. Node hears
 * nothing of it, because libuv accepts with a descriptor that it keeps for that
 * and closes what it accepted. The function that comes back ends the watch.
 */
export function watchDescriptors(modules: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tryDescriptor?: TryDescriptor;
}): () => void {
  const { clock, logger, tryDescriptor = openNull } = modules;
  let loggedMs: number | undefined;
  let timer: Timer;
  const check = (): void => {
    const code = tryDescriptor();
    const nowMs = clock.monotonicMs();
    if (code === undefined && loggedMs !== undefined) {
      loggedMs = undefined;
      logger.info({}, 'Files can be opened again; connections are accepted.');
    }
    if (code !== undefined && (loggedMs === undefined || nowMs - loggedMs >= REPEAT_MS)) {
      loggedMs = nowMs;
      logger.error({ code }, messageOf(code));
    }
    timer = clock.setTimer(CHECK_MS, check);
  };
  timer = clock.setTimer(CHECK_MS, check);
  return () => timer.clear();
}

/** Most files that this process may have open; undefined where the system does not say. */
export function maxDescriptors(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    // Not Linux, or no descriptor to read it with.
    return undefined;
  }
}

/** Read early: when it matters, no file can be opened. Node raises it to the hard limit by itself. */
const LIMIT: number | undefined = maxDescriptors();

function messageOf(code: string): string {
  if (code === 'ENFILE')
    return 'New connections are closed: this machine has as many files open as it may (sysctl fs.file-max).';
  const limit = LIMIT === undefined ? 'as many files open as it may' : `all of its ${LIMIT} files open`;
  return `New connections are closed: this process has ${limit}. Raise the limit (ulimit -Hn, LimitNOFILE of systemd, --ulimit nofile of a container), or lower --max-connections.`;
}

function openNull(): string | undefined {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    return code === 'EMFILE' || code === 'ENFILE' ? code : undefined;
  }
}
