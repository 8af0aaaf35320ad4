import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a part is asked; the values of `values` are plain JSON. */
interface Request {
  readonly id: number;
  readonly name: string;
  readonly values: unknown;
}

type Reply = { readonly id: number } & ({ readonly value: unknown } | { readonly error: string });

/** The longest that anything here takes is connecting 4,000 streams on a busy machine: some ten seconds. */
const TIMEOUT_MS = 90_000;

/** A process of a bench: a bench measures each side in one of its own, so that memory and processor time compare. */
export class Part {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #requests = 0;

  /** `name` is a file of `bench/parts`. */
  constructor(name: string) {
    const file = fileURLToPath(new URL(`../parts/${name}.js`, import.meta.url));
    this.#child = fork(file, { execArgv: ['--expose-gc'] });
    this.#child.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ('error' in reply) waiting?.reject(new Error(`${name}: ${reply.error}`));
      else waiting?.resolve(reply.value);
    });
    this.#child.on('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${name} ended with ${code}`));
      this.#waiting.clear();
    });
  }

  /** Asks the part to do `name`. Rejects when that fails or the part ends. */
  ask<T>(name: string, values: unknown = {}): Promise<T> {
    this.#requests += 1;
    const request: Request = { id: this.#requests, name, values };
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`"${name}" took more than ${TIMEOUT_MS / 1_000} s`)),
        TIMEOUT_MS,
      );
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        settle();
      };
      this.#waiting.set(request.id, {
        resolve: (value) => finish(() => resolve(value as T)),
        reject: (error) => finish(() => reject(error)),
      });
      this.#child.send(request);
    });
  }

  /** Resident memory in bytes, after a garbage collection. */
  memoryBytes(): Promise<number> {
    return this.ask<number>('memory');
  }

  /** Processor time in milliseconds since its start. */
  cpuMs(): Promise<number> {
    return this.ask<number>('cpu');
  }

  /** Kills it. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.kill('SIGKILL');
    });
  }
}

/** The other side: answers what the bench asks of this process. */
export function servePart(does: Readonly<Record<string, (values: never) => unknown>>): void {
  const all: typeof does = { ...does, memory, cpu };
  // A bench that broke off leaves nothing behind.
  process.on('disconnect', () => process.exit());
  process.on('message', (request: Request) => {
    const answer = async (): Promise<unknown> => all[request.name]?.(request.values as never);
    answer().then(
      (value) => process.send?.({ id: request.id, value: value ?? null }),
      (error: unknown) => process.send?.({ id: request.id, error: String(error) }),
    );
  });
}

async function memory(): Promise<number> {
  // Twice: what the first one finalizes is free only in the second.
  globalThis.gc?.();
  await wait(50);
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Resolves after `ms`. */
export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Milliseconds of a clock that all processes of this machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
