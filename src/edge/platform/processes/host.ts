import { type ChildProcess, type ExecFileException, execFile } from 'node:child_process';
import { open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join, normalize, sep } from 'node:path';
import { systemClock } from '../clock.js';
import { watchDeadline } from '../time/deadline.js';

/** Longest file that is read: the largest real one, a CPU list, has a few kilobytes. */
const MAX_HOST_FILE_BYTES = 1_048_576;
/** Longest output of a program: `nvidia-smi -q -x` prints about 48 KB for each GPU, so this holds 80. */
const MAX_COMMAND_OUTPUT_BYTES = 4_194_304;
/** Longest run of a program. Without persistence mode `nvidia-smi` loads the driver first, which takes seconds. */
const COMMAND_TIMEOUT_MS = 20_000;
/** Most names taken from one folder; a large server has about 1,000 PCI devices. */
const MAX_FOLDER_ENTRIES = 16_384;

/** What a program printed. */
export interface CommandOutput {
  readonly stdout: string;
  /** What it printed as errors; empty for a recording. */
  readonly stderr: string;
  /** 0 when it was content; always 0 for a recording. */
  readonly exitCode: number;
}

/**
 * The machine as readers see it. Every path and command goes through here,
 * below one relocatable root, so that a recording can be replayed. What is
 * absent is `undefined`; what is there but cannot be used rejects with a
 * `HostError`.
 */
export interface Host {
  /** Text of a file below the root, at most 1 MiB; undefined when it is not there. */
  readFile(path: string): Promise<string | undefined>;
  /** Names in a folder below the root, sorted; empty when it is not there. */
  listFolder(path: string): Promise<readonly string[]>;
  /** Target of a symbolic link below the root, as it is written; undefined when it is none. */
  readLink(path: string): Promise<string | undefined>;
  /**
   * Runs a program, bounded in time and output. Below another root than `/`
   * nothing is run: the answer is the recording
   * `<root>/commands/<program and arguments joined by spaces>.txt`.
   * Undefined when the program is not on PATH.
   */
  run(program: string, args: readonly string[], signal: AbortSignal): Promise<CommandOutput | undefined>;
  /** Environment variables of the engine as far as known, else of this process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** `unreadable`: not permitted, not a plain file, or outside the root. `failed`: could not be started. */
export type HostErrorCode = 'unreadable' | 'too_large' | 'timeout' | 'aborted' | 'failed';

/** Something on the host that is there but cannot be used. The message names it. @internal */
export class HostError extends Error {
  readonly code: HostErrorCode;
  /** The path or command line. */
  readonly origin: string;

  constructor(code: HostErrorCode, origin: string, message: string) {
    super(`${origin}: ${message}`);
    this.name = 'HostError';
    this.code = code;
    this.origin = origin;
  }
}

/** How a host is opened. */
export interface HostOptions {
  /** Folder that all paths are below. Default `/`, the machine itself. */
  readonly rootFolder?: string;
  /** What `Host.environment` returns. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Default 20,000, at least 1. */
  readonly commandTimeoutMs?: number;
  /** Of standard output, and of errors. Default 4 MiB. */
  readonly maxOutputBytes?: number;
}

/** Opens the machine, or a recording of one when `rootFolder` is not `/`. Touches nothing until it is asked. */
export function openHost(options: HostOptions): Host {
  const root = options.rootFolder ?? '/';
  const timeoutMs = options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS;
  const maxOutputBytes = options.maxOutputBytes ?? MAX_COMMAND_OUTPUT_BYTES;
  const runProgram = programRunner(timeoutMs, maxOutputBytes);
  return {
    environment: options.environment,
    readFile: (path) => readBounded(root, path, MAX_HOST_FILE_BYTES),
    async listFolder(path) {
      const names = await absentAs([], path, async () => readdir(await resolveBelow(root, path)));
      if (names.length > MAX_FOLDER_ENTRIES)
        throw new HostError(
          'too_large',
          path,
          `has ${names.length} entries; at most ${MAX_FOLDER_ENTRIES} are read`,
        );
      return [...names].sort();
    },
    readLink: (path) =>
      absentAs(undefined, path, async () => {
        try {
          return await readlink(join(root, normalize(`/${path}`)));
        } catch (error) {
          if (codeOf(error) === 'EINVAL') return undefined;
          throw error;
        }
      }),
    async run(program, args, signal) {
      if (isMachine(root)) return runProgram(program, args, signal);
      const path = `/commands/${[program, ...args].join(' ')}.txt`;
      const stdout = await readBounded(root, path, maxOutputBytes);
      return stdout === undefined ? undefined : { stdout, stderr: '', exitCode: 0 };
    },
  };
}

function isMachine(root: string): boolean {
  return normalize(root) === sep;
}

/** The real path of a file below the root; a link that leads out of the root is refused. */
async function resolveBelow(root: string, path: string): Promise<string> {
  const real = await realpath(join(root, normalize(`/${path}`)));
  if (isMachine(root)) return real;
  const realRoot = await realpath(root);
  if (real !== realRoot && !real.startsWith(realRoot + sep))
    throw new HostError('unreadable', path, `leads to ${real}, outside ${root}`);
  return real;
}

async function readBounded(root: string, path: string, maxBytes: number): Promise<string | undefined> {
  return absentAs(undefined, path, async () => {
    const real = await resolveBelow(root, path);
    // Opening a named pipe would wait for a writer for ever.
    if (!(await stat(real)).isFile()) throw new HostError('unreadable', path, 'is not a plain file');
    const file = await open(real, 'r');
    try {
      // Files of /proc and /sys claim a size of 0 or 4096, so the size is found by reading.
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      for (;;) {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(65_536), 0, 65_536, null);
        if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
        sizeBytes += bytesRead;
        if (sizeBytes > maxBytes)
          throw new HostError('too_large', path, `is longer than ${maxBytes} bytes, which is the limit`);
        chunks.push(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  });
}

/** Runs `read`; gives `absent` when the path does not exist, and a `HostError` for any other failure. */
async function absentAs<T, A>(absent: A, path: string, read: () => Promise<T>): Promise<T | A> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof HostError) throw error;
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return absent;
    throw new HostError('unreadable', path, `cannot be read (${code ?? String(error)})`);
  }
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

type RunProgram = (
  program: string,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<CommandOutput | undefined>;

/**
 * A program that talks to a wedged driver cannot even be killed: it ends
 * "some time" after SIGKILL. So the answer never waits for the end of a
 * killed program, and the same program is not started again until it is gone;
 * else every round would leave one more behind.
 */
function programRunner(timeoutMs: number, maxOutputBytes: number): RunProgram {
  const dying = new Set<string>();
  return (program, args, signal) =>
    new Promise((resolve, reject) => {
      const origin = [program, ...args].join(' ');
      const fail = (code: HostErrorCode, message: string): void =>
        reject(new HostError(code, origin, message));
      if (signal.aborted) return fail('aborted', 'was not started, the reading is over');
      if (dying.has(program)) return fail('failed', 'was not started, an earlier run does not end');

      const child: ChildProcess = execFile(
        program,
        [...args],
        { maxBuffer: maxOutputBytes, encoding: 'utf8', windowsHide: true },
        (error, stdout, stderr) => {
          stopWaiting();
          dying.delete(program);
          if (error === null) return resolve({ stdout, stderr, exitCode: 0 });
          settleError(error, stdout, stderr);
        },
      );
      const settleError = (error: ExecFileException, stdout: string, stderr: string): void => {
        const code: unknown = error.code;
        if (code === 'ENOENT') resolve(undefined);
        else if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER')
          fail('too_large', `printed more than ${maxOutputBytes} bytes, which is the limit`);
        else if (typeof code === 'number') resolve({ stdout, stderr, exitCode: code });
        else fail('failed', `ended by ${error.signal ?? String(code ?? error.message)}`);
      };
      const abandon = (code: HostErrorCode, message: string): void => {
        dying.add(program);
        fail(code, message);
        child.kill('SIGKILL');
        child.stdout?.destroy();
        child.stderr?.destroy();
        child.unref();
      };
      const stopWaiting = watchDeadline({ timeoutMs, signal }, { clock: systemClock }, (why) => {
        if (why === 'aborted') abandon(why, 'was stopped, the reading is over');
        else abandon(why, `did not end within ${timeoutMs} ms`);
      });
      // Programs that read their input must not wait for ours.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end();
    });
}
