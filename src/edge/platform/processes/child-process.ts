import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { exitCodeOfSignal } from './process-signals.js';

/** A program that was started and shares this process's standard streams. */
export interface Child {
  /** Resolves with its exit status, 128+n when signal n ended it. Never rejects. */
  readonly exited: Promise<number>;
  /** Sends it a signal; harmless when it has ended. */
  kill(signal: NodeJS.Signals): void;
}

/** Starts a program; see `startChild`. */
export type StartChild = typeof startChild;

/** Why a program could not be started, in words for the person who named it. */
export class SpawnError extends Error {
  constructor(command: string, cause: NodeJS.ErrnoException) {
    super(`cannot run "${command}": ${explain(command, cause)}`, { cause });
    this.name = 'SpawnError';
  }
}

/**
 * Throws the `SpawnError` that `startChild` would reject with, where it is plain before the start: no such program on
 * `searchPath` (PATH; undefined is not judged), or a file that this user may not run.
 */
export function checkProgram(command: string, searchPath: string | undefined): void {
  const isPath = command.includes('/');
  if (command === '' || (!isPath && searchPath === undefined)) return;
  const places = isPath
    ? [command]
    : (searchPath ?? '').split(delimiter).map((folder) => join(folder, command));
  const problems = places.map(whyNotRun);
  if (problems.includes(undefined)) return;
  throw new SpawnError(
    command,
    problems.find((error) => error?.code === 'EACCES') ?? problems[0] ?? new Error(),
  );
}

function whyNotRun(path: string): NodeJS.ErrnoException | undefined {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile() ? undefined : Object.assign(new Error('no file'), { code: 'EACCES' });
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

/**
 * Starts a program with this process's standard streams and the environment
 * given. Resolves once it runs; rejects with a `SpawnError` when it cannot.
 * Should this process end first, by a fault of its own, the program gets
 * SIGTERM, so that it does not go on unwatched.
 */
export function startChild(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Child> {
  return new Promise((resolve, reject) => {
    let child: ChildProcess;
    try {
      child = spawn(command, args, { stdio: 'inherit', env: { ...environment } });
    } catch (error) {
      // Node throws what it does not emit: a part of the path that is no folder, too long a command line.
      reject(new SpawnError(command, error as NodeJS.ErrnoException));
      return;
    }
    const leave = (): void => void child.kill('SIGTERM');
    process.once('exit', leave);
    const exited = new Promise<number>((exit) => {
      child.once('exit', (code, signal) => {
        process.off('exit', leave);
        exit(signal === null ? (code ?? 0) : exitCodeOfSignal(signal));
      });
    });
    // Stays for the program's whole life: a signal that may not be sent is an error here too.
    child.on('error', (error) => {
      if (child.pid === undefined) process.off('exit', leave);
      reject(new SpawnError(command, error));
    });
    child.once('spawn', () => resolve({ exited, kill: (signal) => void child.kill(signal) }));
  });
}

function explain(command: string, cause: NodeJS.ErrnoException): string {
  switch (cause.code) {
    case 'ENOENT':
      return command.includes('/')
        ? 'there is no such file, or the interpreter that its first line names is missing'
        : 'not found on PATH';
    case 'EACCES':
      return 'not an executable file';
    case 'ENOTDIR':
      return 'a part of its path is not a folder';
    case 'E2BIG':
      return 'its arguments and environment are too long';
    case 'ERR_INVALID_ARG_VALUE':
      return 'it is no name of a program';
    default:
      return cause.message;
  }
}
