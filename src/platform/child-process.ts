import { spawn } from 'node:child_process';
import { exitCodeOfSignal } from './process-signals.js';

/** A program that was started and shares this process's standard streams. */
export interface Child {
  /** Resolves with its exit status, 128+n when signal n ended it. Never rejects. */
  readonly exited: Promise<number>;
  /** Sends it a signal; harmless when it has ended. */
  kill(signal: NodeJS.Signals): void;
}

/** Why a program could not be started, in words for the person who named it. */
export class SpawnError extends Error {
  constructor(command: string, cause: NodeJS.ErrnoException) {
    const why =
      cause.code === 'ENOENT'
        ? 'not found on PATH'
        : cause.code === 'EACCES'
          ? 'not executable'
          : cause.message;
    super(`cannot run "${command}": ${why}`, { cause });
    this.name = 'SpawnError';
  }
}

/**
 * Starts a program with this process's standard streams and the environment
 * given. Resolves once it runs; rejects with a `SpawnError` when it cannot.
 */
export function startChild(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Child> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...environment } });
    const exited = new Promise<number>((exit) => {
      child.once('exit', (code, signal) => exit(signal === null ? (code ?? 0) : exitCodeOfSignal(signal)));
    });
    child.once('error', (error) => reject(new SpawnError(command, error)));
    child.once('spawn', () => resolve({ exited, kill: (signal) => void child.kill(signal) }));
  });
}
