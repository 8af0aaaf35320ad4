import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import { systemClock } from '../clock.js';
import { onAbort } from '../time/on-abort.js';
import { BoundedOutput } from './bounded-output.js';
import { openDescriptorSink } from './descriptor-sink.js';

/** Where a command writes its text. */
export interface TextOutput {
  write(text: string): void;
  /** Resolves when the reader has taken what was written, or `signal` aborts: for who writes without an end. */
  taken(signal: AbortSignal): Promise<void>;
  /** Whether a person reads along. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; undefined when it is none. */
  readonly columns: number | undefined;
  /** Height of the terminal in lines; undefined when it is none. */
  readonly rows: number | undefined;
}

const STDERR_FD = 2;

/** Longest time that a process waits at its end for the reader of its log, in milliseconds. */
const FLUSH_MS = 1_000;

/** The same for who asked twice to end, and does not want to wait. */
const HASTY_FLUSH_MS = 100;

/** The exit code of a program whose reader has left, as shells give it for SIGPIPE. */
const EXIT_READER_LEFT = 141;

/** The exit code when what was asked for could not be written. */
const EXIT_UNWRITTEN = 1;

/** Standard output, for data. */
export const standardOutput: TextOutput = {
  write: (text) => void process.stdout.write(text),
  taken: (signal) => takenFrom(process.stdout, signal),
  get isTerminal() {
    return process.stdout.isTTY === true;
  },
  get columns() {
    return process.stdout.columns;
  },
  get rows() {
    return process.stdout.rows;
  },
};

/** What waits for the reader of standard error; it says how many lines were lost. */
export const errorOutput: BoundedOutput = openErrorOutput();

/** Standard error, for everything that is not data. Never blocks and never fails: see `BoundedOutput`. */
export const standardError: TextOutput = {
  write: (text) => errorOutput.write(text),
  taken: () => errorOutput.flush(FLUSH_MS).then(() => undefined),
  isTerminal: isatty(STDERR_FD),
  get columns() {
    return isatty(STDERR_FD) ? process.stderr.columns : undefined;
  },
  get rows() {
    return isatty(STDERR_FD) ? process.stderr.rows : undefined;
  },
};

/** Lines of the log that were lost, because they were not read in time or they could not be written. */
export function droppedLogLines(): number {
  return errorOutput.droppedLines;
}

/** Whether any of the three streams is a terminal, which then sends signals to the whole foreground group. */
export function hasTerminal(): boolean {
  // By number: to touch `process.stdin` would change how a pipe behaves that a child shares.
  return [0, 1, 2].some((fd) => isatty(fd));
}

/**
 * Ends the process when standard output cannot be written: quietly when its
 * reader has gone, as in `kv-accord status | head`, else in one line. A server
 * goes on (`isServer`): what it writes there is said in its log too.
 */
export function exitWhenOutputFails(isServer: () => boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServer()) return;
    if (error.code === 'EPIPE') {
      void exitSoon(EXIT_READER_LEFT);
      return;
    }
    errorOutput.write(`kv-accord: cannot write to standard output: ${error.message}\n`);
    void exitSoon(EXIT_UNWRITTEN);
  });
}

/**
 * Ends the process with `code` whatever else it does, after at most a second
 * for the reader of its log; a hasty end waits a tenth of that.
 */
export async function exitSoon(code: number, isHasty = false): Promise<never> {
  await errorOutput.flush(isHasty ? HASTY_FLUSH_MS : FLUSH_MS);
  process.exit(code);
}

/**
 * Ends the process with `code` when nothing is left to do. The reader of its
 * data has all the time that it wants, that of its log a second. Of a process that was asked to stop,
 * both have a second; where data is left then, it ends with `stoppedCode`.
 */
export async function endProcess(code: number, stoppedCode?: number): Promise<void> {
  process.exitCode = code;
  const waiting =
    stoppedCode === undefined
      ? undefined
      : systemClock.setTimer(FLUSH_MS, () => void exitSoon(stoppedCode, true));
  // Also called when it could not be written, which ends the process.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  waiting?.clear();
  await errorOutput.flush(FLUSH_MS);
  errorOutput.close();
  if (errorOutput.isWriting) process.exit();
}

function openErrorOutput(): BoundedOutput {
  const sink = openDescriptorSink(STDERR_FD);
  const output = new BoundedOutput({}, { clock: systemClock, sink });
  if (sink.mayHang) {
    // Node sets pipes and sockets not to wait when it opens its own stream for them.
    if (isPipeOrSocket()) process.stderr.on('error', () => undefined);
    process.once('exit', () => {
      // Node would wait for the thread that waits for the reader.
      if (output.isWriting) process.kill(process.pid, 'SIGKILL');
    });
  }
  return output;
}

function isPipeOrSocket(): boolean {
  try {
    // As bigints, for the reason that stands in descriptor-sink.ts.
    const stat = fstatSync(STDERR_FD, { bigint: true });
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // Closed before the program began: nobody is there to be waited for.
    return false;
  }
}

function takenFrom(stream: NodeJS.WriteStream, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted || stream.destroyed || !stream.writableNeedDrain) {
      resolve();
      return;
    }
    const finish = (): void => {
      leave();
      stream.off('drain', finish);
      stream.off('close', finish);
      resolve();
    };
    const leave = onAbort(signal, finish);
    stream.once('drain', finish);
    stream.once('close', finish);
  });
}
