import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { inject } from 'vitest';
import type { EngineWish, LenderLine, SglangWish, VllmWish } from './engine-lender.js';
import { logTail, type RunningProgram } from './program.js';
import type { Sglang } from './sglang.js';
import type { Vllm } from './vllm.js';

/**
 * Has a vLLM of the tiny model that other test files have used before, or will use: its cache is not empty, and its
 * counters and its log have a past. Nobody else has it until `program.stop()`, or `program.end()`.
 */
export function borrowVllm(wish: Omit<VllmWish, 'engine'>): Promise<Vllm<LentProgram>> {
  return borrowFrom(inject('engineLender'), { engine: 'vllm', ...wish });
}

/** The same of an SGLang. */
export function borrowSglang(wish: Omit<SglangWish, 'engine'>): Promise<Sglang<LentProgram>> {
  return borrowFrom(inject('engineLender'), { engine: 'sglang', ...wish });
}

/** An engine that belongs to the lender. */
export class LentProgram implements RunningProgram {
  readonly name: string;
  readonly logFile: string;
  readonly #keeperPid: number;
  readonly #pid: number;
  readonly #socket: Socket;
  readonly #over: Promise<void>;
  #status: number | undefined;

  constructor({ name, logFile, keeperPid, pid }: Lent, socket: Socket, ended: Promise<number | undefined>) {
    this.name = name;
    this.logFile = logFile;
    this.#keeperPid = keeperPid;
    this.#pid = pid;
    this.#socket = socket;
    this.#over = ended.then((status) => {
      this.#status = status;
    });
  }

  get status(): number | undefined {
    return this.#status;
  }

  get pid(): number | undefined {
    return this.#status === undefined ? this.#pid : undefined;
  }

  /** All that it has printed, also for those who had it before. */
  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  get logTail(): string {
    return logTail(this);
  }

  /** Gives it back; it runs on. */
  async stop(): Promise<number> {
    this.#socket.destroy();
    await this.#over;
    return this.#status ?? 0;
  }

  /** Ends it: the lender forgets it. */
  async end(): Promise<number> {
    process.kill(this.#keeperPid, 'SIGTERM');
    await this.#over;
    return this.stop();
  }
}

type Lent = Extract<LenderLine, { readonly kind: 'lent' }>;

/** Has an engine of the lender that listens at `socketPath`. */
export async function borrowFrom(socketPath: string, wish: EngineWish): Promise<Vllm<LentProgram>> {
  const socket = connect(socketPath);
  const answer = await new Promise<{ lent: Lent; ended: Promise<number | undefined> }>((resolve, reject) => {
    let over: (status: number | undefined) => void = () => undefined;
    const ended = new Promise<number | undefined>((end) => {
      over = end;
    });
    socket.once('error', reject).once('close', () => {
      over(undefined);
      reject(new Error('the lender of engines is gone'));
    });
    createInterface({ input: socket }).on('line', (text) => {
      const line = JSON.parse(text) as LenderLine;
      if (line.kind === 'lent') resolve({ lent: line, ended });
      else if (line.kind === 'ended') over(line.status);
      else reject(new Error(line.reason));
    });
    socket.write(`${JSON.stringify(wish)}\n`);
  });
  const { lent, ended } = answer;
  return { program: new LentProgram(lent, socket, ended), url: lent.url, ports: lent.ports };
}
