import { execFile } from 'node:child_process';

/** What a command that ended by itself printed, and how it ended. */
export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What a command is given besides its arguments. */
export interface RunOptions {
  /** Its standard input; none by default. */
  readonly stdin?: string;
  /** Further variables beside those of the test run. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command to its end, 60 s at most; a status other than 0 is an outcome, not an error. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { stdin, env } = options;
  const limits = { timeout: 60_000, maxBuffer: 16 << 20, env: { ...process.env, ...env } };
  return new Promise((resolve, reject) => {
    const child = execFile(command, [...args], limits, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ status: Number(error?.code ?? 0), stdout, stderr });
    });
    // A command that does not read all of it is reported by its status.
    child.stdin?.on('error', () => undefined).end(stdin ?? '');
  });
}
