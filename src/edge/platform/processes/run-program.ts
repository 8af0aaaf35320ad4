import { execFile } from 'node:child_process';
import type { Environment } from './environment.js';

export interface RunProgramOptions {
  readonly environment: Environment;
  /** What runs longer is ended hard. */
  readonly timeoutMs: number;
  /** What writes more, on either stream, is ended hard. */
  readonly maxOutputBytes: number;
  /** Ends it hard when its answer is not wanted any longer. */
  readonly signal?: AbortSignal;
}

/** How a program ended. */
export interface ProgramOutcome {
  /** What it wrote to its standard output. */
  readonly output: string;
  /** What it wrote to its standard error. */
  readonly errors: string;
  /** Why it counts as failed, in words; undefined when it ended with status 0. */
  readonly problem: string | undefined;
}

/** Runs a program without a shell and with nothing on its standard input, and waits for its end. Never rejects. */
export type RunProgram = typeof runProgram;

/** See `RunProgram`. */
export function runProgram(
  command: string,
  args: readonly string[],
  { environment, timeoutMs, maxOutputBytes, signal }: RunProgramOptions,
): Promise<ProgramOutcome> {
  return new Promise((resolve) => {
    const end = (error: Error | null, output: string, errors: string): void =>
      resolve({
        output,
        errors,
        problem: error === null ? undefined : explain(error, timeoutMs, maxOutputBytes),
      });
    try {
      const child = execFile(
        command,
        [...args],
        {
          env: { ...environment },
          timeout: timeoutMs,
          maxBuffer: maxOutputBytes,
          killSignal: 'SIGKILL',
          windowsHide: true,
          ...(signal === undefined ? {} : { signal }),
        },
        end,
      );
      // One that does not read must not end this process with EPIPE.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end();
    } catch (error) {
      end(error instanceof Error ? error : new Error(String(error)), '', '');
    }
  });
}

function explain(error: Error, timeoutMs: number, maxOutputBytes: number): string {
  const { code, killed, signal } = error as Error & { code?: unknown; killed?: boolean; signal?: unknown };
  if (code === 'ABORT_ERR') return 'nobody waits for it any longer';
  if (code === 'ENOENT') return 'it is not there';
  if (code === 'EACCES') return 'it may not be run by this user';
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it wrote more than ${maxOutputBytes} bytes`;
  if (killed === true) return `it did not end within ${timeoutMs / 1_000} s`;
  if (typeof code === 'number') return `it ended with status ${code}`;
  if (typeof signal === 'string') return `it was ended by ${signal}`;
  return error.message.split('\n', 1)[0] ?? '';
}
