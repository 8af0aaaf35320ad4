import cluster from 'node:cluster';
import { SECONDARY_PROCESS_VARIABLE } from './environment.js';

/** A way for messages to another process of this program. */
export interface ProcessLink {
  /** Sends a copy; calls `onWritten` once the system has taken it, or the other side is gone. Never throws. */
  send(message: unknown, onWritten: () => void): void;
}

/** A further process of this program, as the first one sees it. */
export interface SecondaryProcess extends ProcessLink {
  /** Ends it at once, whatever it is doing. */
  kill(): void;
}

/** What is reported of a process. */
export interface SecondaryProcessEvents {
  readonly onMessage: (message: unknown) => void;
  /** It is gone, and all that it sent has been delivered; `how` is for a log. Called once, and last. */
  readonly onEnd: (how: string) => void;
}

/** Starts a member; see `startSecondaryProcess`. */
export type StartSecondaryProcess = typeof startSecondaryProcess;

/**
 * Starts this program once more, with the same command line and environment.
 * The ports on which such processes listen are shared by all of them: this
 * process takes the connections and gives each to one that has time, in turn.
 * A member ends by itself when this process does.
 */
export function startSecondaryProcess({ onMessage, onEnd }: SecondaryProcessEvents): SecondaryProcess {
  // Typed arrays cross as bytes; JSON would spell out each token id.
  cluster.setupPrimary({ serialization: 'advanced' });
  // Where processes take connections themselves, the system prefers some to others, and connections last for long.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  const worker = cluster.fork({ [SECONDARY_PROCESS_VARIABLE]: '1' });
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
    send: (message, onWritten) => {
      if (worker.isConnected()) worker.send(message as object, undefined, onWritten);
      else onWritten();
    },
    kill: () => void worker.process.kill('SIGKILL'),
  };
}

/** The member's own side. */
export interface PrimaryLink extends ProcessLink {
  /** Gives up the link; a process that has nothing else to do ends then. */
  leave(): void;
}

/** Whether another process of this program has started this one. */
export function isSecondaryProcess(): boolean {
  return cluster.isWorker;
}

/** The link to the first process. */
export function openPrimaryLink(onMessage: (message: unknown) => void): PrimaryLink {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('this process was started by nobody');
  worker.on('message', onMessage);
  // Without it the first process itself is gone: the library ends this one.
  worker.on('error', () => undefined);
  return {
    send: (message, onWritten) => {
      if (worker.isConnected()) worker.send(message as object, undefined, onWritten);
      else onWritten();
    },
    leave: () => void worker.disconnect(),
  };
}
