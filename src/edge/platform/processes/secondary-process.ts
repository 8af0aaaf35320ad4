import cluster from 'node:cluster';
import { readEnvironment, SECONDARY_PROCESS_VARIABLE } from './environment.js';

/** A way for messages to another process of this program. */
export interface ProcessLink {
  /** Sends a copy. What cannot be sent because the other side is gone is lost. Never throws. */
  send(message: unknown): void;
}

/** A further process of this program, as the first one sees it. */
export interface SecondaryProcess extends ProcessLink {
  /** Ends it immediately, whatever it is doing. */
  kill(): void;
}

/** What is reported of a process. */
export interface SecondaryProcessEvents {
  readonly onMessage: (message: unknown) => void;
  /** It is gone, and all that it sent has been delivered; `how` is for a log. Called once, and last. */
  readonly onEnd: (how: string) => void;
}

/** Starts a secondary process; see `startSecondaryProcess`. */
export type StartSecondaryProcess = typeof startSecondaryProcess;

/**
 * Starts this program once more, with the same command line and environment,
 * and `assignment` in a variable of its own: what this process wants it to do.
 * The ports on which such processes listen are shared by all of them: this
 * process takes the connections and gives each to one that has time, in turn.
 * A secondary process ends by itself when this process does.
 */
export function startSecondaryProcess(
  assignment: string,
  { onMessage, onEnd }: SecondaryProcessEvents,
): SecondaryProcess {
  // Where processes take connections themselves, the system prefers some to others, and connections last for long.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const worker = cluster.fork({ [SECONDARY_PROCESS_VARIABLE]: assignment });
  let how: string | undefined;
  let isDisconnected = false;
  let isReported = false;
  const reportEnd = (): void => {
    if (isReported || how === undefined || !isDisconnected) return;
    isReported = true;
    onEnd(how);
  };
  worker.on('message', onMessage);
  worker.once('disconnect', () => {
    isDisconnected = true;
    reportEnd();
  });
  worker.once('exit', (code: number | null, signal: string | null) => {
    how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
    reportEnd();
  });
  worker.on('error', (error: Error) => {
    // Other errors are those of a channel whose end is reported in a moment.
    if (worker.process.pid !== undefined) return;
    how = `could not be started: ${error.message}`;
    isDisconnected = true;
    reportEnd();
  });
  return {
    send: (message) => {
      if (worker.isConnected()) worker.send(message as object);
    },
    kill: () => void worker.process.kill('SIGKILL'),
  };
}

/** The secondary process's own side. */
export interface PrimaryLink extends ProcessLink {
  /** Gives up the link; a process that has nothing else to do ends then. */
  leave(): void;
}

/** Whether another process of this program has started this one. */
export function isSecondaryProcess(): boolean {
  return cluster.isWorker;
}

/** What the first process wants this one to do; empty in the first process. */
export function assignmentOfProcess(): string {
  return readEnvironment()[SECONDARY_PROCESS_VARIABLE] ?? '';
}

/** The link to the first process. */
export function openPrimaryLink(onMessage: (message: unknown) => void): PrimaryLink {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('no process of this program has started this one');
  worker.on('message', onMessage);
  // Without it the first process itself is gone: the library ends this one.
  worker.on('error', () => undefined);
  return {
    send: (message) => {
      if (worker.isConnected()) worker.send(message as object);
    },
    leave: () => void worker.disconnect(),
  };
}
