import { parentPort, Worker, workerData } from 'node:worker_threads';
import { messageOf } from '../describe-error.js';
import { packageRoot } from '../files/package-root.js';

/** A thread of this process, as the one that started it sees it. */
export interface Thread {
  post(message: unknown): void;
  /** Stops it wherever it is. Never rejects. */
  stop(): Promise<void>;
}

/** What is reported of a thread. */
export interface ThreadEvents {
  readonly onMessage: (message: unknown) => void;
  /** It is gone, of itself or stopped; the reason is for a log. Called once, and last. */
  readonly onEnd: (reason: string) => void;
}

/** What a thread is started with. */
export interface ThreadOptions {
  readonly url: URL;
  /** Copied to it. */
  readonly data: unknown;
  /** Heap beyond which the thread ends, and the process does not. */
  readonly maxHeapMb: number;
}

/** Starts a thread; see `startThread`. */
export type StartThread = typeof startThread;

/** Starts a thread that runs a module. It does not keep the process alive. */
export function startThread(options: ThreadOptions, { onMessage, onEnd }: ThreadEvents): Thread {
  const worker = new Worker(options.url, {
    workerData: options.data,
    resourceLimits: { maxOldGenerationSizeMb: options.maxHeapMb },
  });
  let reason = 'it ended';
  worker.unref();
  worker.on('message', onMessage);
  worker.on('error', (error: unknown) => {
    reason = messageOf(error);
  });
  worker.on('exit', () => onEnd(reason));
  return {
    post: (message) => worker.postMessage(message),
    stop: async () => {
      await worker.terminate();
    },
  };
}

/** Where the build puts the module of that name. */
export function threadUrl(name: string): URL {
  return new URL(`dist/threads/${name}.js`, packageRoot());
}

/** The thread's own side: what it was started with, and the way back. */
export function insideThread(): {
  readonly data: unknown;
  post(message: unknown, transferred?: readonly ArrayBuffer[]): void;
  onMessage(take: (message: unknown) => void): void;
} {
  if (parentPort === null) throw new Error('this module runs in a thread');
  const port = parentPort;
  return {
    data: workerData as unknown,
    post: (message, transferred = []) => port.postMessage(message, [...transferred]),
    onMessage: (take) => void port.on('message', take),
  };
}
