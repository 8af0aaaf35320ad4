import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { wait } from './part.js';

/** How long a server may take until it answers; smg takes ten seconds. */
const READY_MS = 30_000;
const ASK_AGAIN_MS = 100;
/** Length of a tick in `/proc/PID/stat`, the same on every Linux that Node runs on. */
const TICK_MS = 10;

/** A program that serves HTTP in a process of its own. */
export class ServerProcess {
  readonly #child: ChildProcess;
  #said = '';

  /** `environment`: what is added to that of this process. */
  constructor(program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const env = { ...process.env, ...environment };
    this.#child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
    this.#child.stderr?.on('data', (piece: Buffer) => {
      this.#said = (this.#said + piece.toString()).slice(-2_000);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves when `url` is answered as wanted. Rejects, with what the program said last, when it ends before or is late. */
  async ready(url: string, isWanted: (body: string) => boolean): Promise<void> {
    const endMs = Date.now() + READY_MS;
    while (Date.now() < endMs && this.#child.exitCode === null) {
      try {
        const answer = await fetch(url);
        if (answer.ok && isWanted(await answer.text())) return;
      } catch {
        // Not there yet.
      }
      await wait(ASK_AGAIN_MS);
    }
    throw new Error(`${this.#child.spawnfile} is not ready: ${this.#said}`);
  }

  /** Kills it. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/**
 * Processor time of a process and of those that it has started, since their start, in steps of 10 ms; not a number where
 * there is no `/proc`.
 */
export function cpuMsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ofChildren = childrenOf(pid).reduce((sumMs, child) => sumMs + cpuMsOf(child), 0);
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS + ofChildren;
  } catch {
    return Number.NaN;
  }
}

function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim() === '' ? [] : text.trim().split(' ').map(Number);
}

/** A port that was free a moment ago, for programs that do not say which one they took. */
export function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
