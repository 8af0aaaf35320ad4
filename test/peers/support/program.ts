import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scratchFolder } from './scratch.js';

const KEEPER = fileURLToPath(new URL('keeper.py', import.meta.url));

/** How much of a log is shown when something went wrong. */
const LOG_TAIL_CHARACTERS = 6_000;

/** How to start a program. */
export interface ProgramOptions {
  /** For people, and the name of its log. */
  readonly name: string;
  readonly command: readonly string[];
  /** Its whole environment but for `PATH` and `HOME`. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A program that runs, however it was started. */
export interface RunningProgram {
  readonly name: string;
  /** The file that its standard output and error go to. */
  readonly logFile: string;
  /** Undefined while it runs. */
  readonly status: number | undefined;
  /** The process id of the program itself, for signals; undefined before it runs and after it has ended. */
  readonly pid: number | undefined;
  /** All that it has printed up to now. */
  readonly log: string;
  /** The end of what it has printed, for messages. */
  readonly logTail: string;
  /** Ends it, or gives it back where it is lent; resolves with its exit status. */
  stop(): Promise<number>;
  /** Ends it in any case, so that its ports are free; resolves with its exit status. */
  end(): Promise<number>;
}

let started = 0;

/**
 * A program of the tests, together with everything that it starts. It ends with
 * the test run, however that ends: `keeper.py` stands between. What it prints
 * goes to a log file, which stays when the tests fail.
 */
export class Program implements RunningProgram {
  readonly name: string;
  /** The file that its standard output and error go to. */
  readonly logFile: string;
  /** Its exit status, once it has ended: 128 plus the signal's number when a signal ended it. */
  readonly ended: Promise<number>;
  readonly #keeper: ChildProcess;
  #status: number | undefined;

  constructor(options: ProgramOptions) {
    started += 1;
    this.name = options.name;
    this.logFile = join(scratchFolder(), `${String(started).padStart(2, '0')}-${options.name}.log`);
    const log = openSync(this.logFile, 'w');
    this.#keeper = spawn('python3', [KEEPER, ...options.command], {
      stdio: ['pipe', log, log],
      cwd: options.cwd,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...options.env },
    });
    closeSync(log);
    this.ended = new Promise((resolve) => {
      this.#keeper.once('error', () => resolve(127));
      this.#keeper.once('close', (code) => resolve(code ?? 1));
    });
    void this.ended.then((status) => {
      this.#status = status;
    });
  }

  /** Undefined while it runs. */
  get status(): number | undefined {
    return this.#status;
  }

  /** The process id of the program itself, for signals; undefined before it runs and after it has ended. */
  get pid(): number | undefined {
    const keeper = this.#keeper.pid;
    if (keeper === undefined || this.#status !== undefined) return undefined;
    // The program is the first child; others are what it has left behind.
    const children = readFileSync(`/proc/${keeper}/task/${keeper}/children`, 'utf8').split(' ');
    return Number(children[0]) || undefined;
  }

  /** The process id of its keeper: TERM there ends the program and everything that it started. */
  get keeperPid(): number | undefined {
    return this.#keeper.pid;
  }

  /** All that it has printed up to now. */
  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  /** The end of what it has printed, for messages. */
  get logTail(): string {
    return logTail(this);
  }

  /** Ends it and everything that it started; resolves with its exit status. */
  async stop(): Promise<number> {
    this.#keeper.stdin?.destroy();
    return this.ended;
  }

  /** The same as `stop`: nobody else has it. */
  end(): Promise<number> {
    return this.stop();
  }

  /** Ends it and everything that it started as `kill -9` does, with no time to close its connections. */
  async kill(): Promise<number> {
    this.#keeper.kill('SIGUSR1');
    return this.ended;
  }
}

/** The end of what a program has printed, for messages. */
export function logTail({ logFile, log }: Pick<RunningProgram, 'logFile' | 'log'>): string {
  return `---- the end of ${logFile}\n${log.slice(-LOG_TAIL_CHARACTERS)}\n----`;
}
