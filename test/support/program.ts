import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Changes } from './changes.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** For `beforeAll` of tests that run the built program. */
export function requireBuild(): void {
  if (!existsSync(MAIN)) throw new Error('the built program is tested here: run "npm run build" first');
}

/** One line of a process's JSON log. */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly code?: string;
}

/** The built program as a process, with what it writes as it grows. */
export class Program {
  readonly changes: Changes = new Changes();
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';

  /** `args` stand before what follows a `--`, and the log is JSON. `maxFiles`: what it may have open. Default: what this process may. */
  constructor(args: readonly string[], { maxFiles }: { readonly maxFiles?: number } = {}) {
    const [own, rest] = split(args);
    const command = [process.execPath, MAIN, ...own, '--log-format', 'json', ...rest];
    const limited = maxFiles === undefined ? [] : ['/bin/sh', '-c', `ulimit -n ${maxFiles}; exec "$@"`, 'sh'];
    const [file = '', ...others] = [...limited, ...command];
    this.child = spawn(file, others, {
      env: { PATH: process.env['PATH'] },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (bytes: Buffer) => {
      this.stdout += bytes.toString();
      this.changes.notify();
    });
    this.child.stderr?.on('data', (bytes: Buffer) => {
      this.stderr += bytes.toString();
      this.changes.notify();
    });
    // Not at its exit: what it wrote last may still be on its way.
    this.child.once('close', () => this.changes.notify());
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The lines of the log. */
  get lines(): LogLine[] {
    return this.stderr
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line));
  }

  /** Resolves as soon as a line of the log is as asked. */
  async until(holds: (line: LogLine) => boolean): Promise<void> {
    await this.untilText(() => this.lines.some(holds));
  }

  /** Resolves as soon as what was written is as asked. */
  async untilText(holds: () => boolean): Promise<void> {
    await this.changes.until(() => holds() || this.hasEnded);
    if (!holds()) throw new Error(`it ended with ${this.child.exitCode}: ${this.stdout}${this.stderr}`);
  }

  /** Resolves with the exit code once it has ended and all its output is here; null when a signal ended it. */
  async ended(): Promise<number | null> {
    if (!this.hasEnded || this.child.stderr?.readableEnded === false) {
      await new Promise((resolve) => this.child.once('close', resolve));
    }
    return this.child.exitCode;
  }

  /** Sends a signal and resolves with the exit code once it has ended. */
  end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.hasEnded) this.child.kill(signal);
    return this.ended();
  }
}

function split(args: readonly string[]): readonly [readonly string[], readonly string[]] {
  const at = args.indexOf('--');
  return at === -1 ? [args, []] : [args.slice(0, at), args.slice(at)];
}
