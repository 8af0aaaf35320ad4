import type { Clock } from '../clock.js';
import { sleep } from '../clock.js';
import { explainSystemError } from './file.js';
import { openFilePieces } from './file-pieces.js';

/** Between two looks: half of what a person waits for without wondering, and nothing for the machine. */
const DEFAULT_INTERVAL_MS = 2_000;

/**
 * A change is read again after so long and reported only when it stands:
 * an editor that empties a file and writes it again needs a few milliseconds,
 * and half a list reads like a whole one.
 */
const CONFIRM_MS = 100;

export interface FileWatchOptions {
  readonly path: string;
  /** What is larger is an error. */
  readonly maxBytes: number;
  /** Between two looks. Default 2,000 ms. */
  readonly intervalMs?: number;
}

export interface FileWatchModules {
  readonly clock: Clock;
  /** Reads the whole file. Default `readWholeFile`. */
  readonly readFile?: (path: string, maxBytes: number) => Promise<Buffer>;
}

/** Who follows the content of a file. */
export interface FileWatchListener {
  /** The content, immediately and at every change; also when it can be read again after an error. */
  onContent(content: Buffer): void;
  /** Why it cannot be read, in words; reported when it is new, not at every look. */
  onError(error: Error): void;
}

/**
 * Looks at a file until `signal` aborts. It goes by content: the system's own
 * notices are lost on network file systems and when a mounted ConfigMap or
 * Secret is swapped behind its symbolic link, and time stamps can stand still.
 * Never rejects by itself; what a listener throws ends the watch.
 */
export async function watchFile(
  options: FileWatchOptions,
  modules: FileWatchModules,
  signal: AbortSignal,
  listener: FileWatchListener,
): Promise<void> {
  const { path, maxBytes, intervalMs = DEFAULT_INTERVAL_MS } = options;
  const { clock, readFile = readWholeFile } = modules;
  let known: Buffer | undefined;
  let unconfirmed: Buffer | undefined;
  let lastProblem: string | undefined;
  while (!signal.aborted) {
    let content: Buffer | undefined;
    try {
      content = await readFile(path, maxBytes);
    } catch (cause) {
      if (signal.aborted) return;
      const problem = `${path} ${explainSystemError(cause)}`;
      if (problem !== lastProblem) listener.onError(new Error(problem, { cause }));
      lastProblem = problem;
      unconfirmed = undefined;
    }
    if (signal.aborted) return;
    if (content !== undefined) {
      const isNew = known === undefined || !content.equals(known);
      const isConfirmed = known === undefined || unconfirmed?.equals(content) === true;
      if (isNew && !isConfirmed) {
        unconfirmed = content;
        await sleep(clock, CONFIRM_MS, signal);
        continue;
      }
      if (isNew || lastProblem !== undefined) {
        known = content;
        listener.onContent(content);
      }
      unconfirmed = undefined;
      lastProblem = undefined;
    }
    await sleep(clock, intervalMs, signal);
  }
}

/** Reads a plain file of at most `maxBytes`. Rejects with the system's error, or with a `RangeError` in words. */
export async function readWholeFile(path: string, maxBytes: number): Promise<Buffer> {
  const pieces = await openFilePieces(path, maxBytes);
  if (pieces === undefined) throw new Error('does not exist');
  const gathered: Uint8Array[] = [];
  for await (const piece of pieces) gathered.push(piece);
  return Buffer.concat(gathered);
}
