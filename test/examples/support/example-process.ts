import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { Changes } from '../../support/changes.js';

const CLIENT = fileURLToPath(new URL('../../../examples/node-client/client.mjs', import.meta.url));

/** What a run of an example came to. */
export interface ExampleOutcome {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One run of `examples/node-client/client.mjs`, or of a copy of it; it ends with the test. */
export class ExampleProcess {
  readonly #changes = new Changes();
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';
  /** Resolves when it has ended and all its output is here. */
  readonly ended: Promise<ExampleOutcome>;

  constructor(args: readonly string[], script: string = CLIENT) {
    const child = spawn(process.execPath, [script, ...args], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#changes.notify();
      });
    }
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        this.#changes.notify();
      });
    });
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await this.ended;
    });
  }

  /** Resolves as soon as its standard output is as asked; rejects when it ends before. */
  async until(holds: (stdout: string) => boolean): Promise<void> {
    const hasEnded = (): boolean => this.#child.exitCode !== null;
    await this.#changes.until(() => holds(this.stdout) || hasEnded());
    if (!holds(this.stdout)) throw new Error(`it ended with ${this.#child.exitCode}: ${this.stderr}`);
  }
}

/** Runs the example to its end. */
export function runExample(...args: readonly string[]): Promise<ExampleOutcome> {
  return new ExampleProcess(args).ended;
}
