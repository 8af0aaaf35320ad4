import { execFile } from 'node:child_process';

/** What a command that ended by itself printed, and how it ended. */
export interface Outcome {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end, 60 s at most; a status other than 0 is an outcome, not an error. */
export function run(command: string, args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    execFile(command, [...args], { timeout: 60_000, maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ status: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}
