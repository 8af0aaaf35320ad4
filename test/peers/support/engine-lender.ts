import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TokenizerName } from '../../frontend/tokens/support/tokenizers.js';
import type { Program } from './program.js';
import { type Sglang, type SglangOptions, startSglang } from './sglang.js';
import { tinyModel } from './tiny-model.js';
import { modelWithTokenizer } from './tokenizer-model.js';
import { answersOk, startVllm, type Vllm, type VllmOptions } from './vllm.js';

/** The engine that a test wants; equal wishes are met by the same engine, one after the other. */
export type EngineWish = VllmWish | SglangWish;

/** A vLLM of the tiny model, or of one with a recorded tokenizer. */
export interface VllmWish extends Omit<VllmOptions, 'model' | 'ports'> {
  readonly engine: 'vllm';
  readonly tokenizer?: TokenizerName;
}

/** An SGLang of the tiny model. */
export interface SglangWish extends Omit<SglangOptions, 'model' | 'ports'> {
  readonly engine: 'sglang';
}

/** The lines that the lender writes. */
export type LenderLine =
  | {
      readonly kind: 'lent';
      readonly name: string;
      readonly logFile: string;
      readonly keeperPid: number;
      readonly pid: number;
      readonly url: string;
      readonly ports: Vllm['ports'];
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'ended'; readonly status: number };

/** Engines that nobody has are kept for the next test; each has about 1.7 GB of memory. */
const MOST_IDLE = 2;

interface Kept {
  readonly wish: string;
  readonly engine: Vllm | Sglang;
}

/**
 * Lends real engines to test files, so that each kind is started once. A file has an engine alone for as long as its
 * connection is open, and its end closes that, however it ends. What is given back is kept, with everything in its
 * cache, for the next file that wants the same.
 */
export class EngineLender {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #startEngine: typeof startEngine;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #running = new Set<Program>();
  readonly #loans = new Set<Promise<void>>();
  #idle: Kept[] = [];
  #stopped = false;

  private constructor(start: typeof startEngine) {
    this.#startEngine = start;
    this.#folder = mkdtempSync(join(tmpdir(), 'kv-accord-lender-'));
    this.socketPath = join(this.#folder, 'socket');
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static open(start: typeof startEngine = startEngine): Promise<EngineLender> {
    const lender = new EngineLender(start);
    return new Promise((resolve, reject) => {
      lender.#server.once('error', reject).listen(lender.socketPath, () => resolve(lender));
    });
  }

  /** Ends every engine, also those that are lent and those that are starting. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#loans);
    await Promise.all([...this.#running].map((program) => program.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // The end of the connection says it as well.
    socket.on('error', () => undefined);
    createInterface({ input: socket }).once('line', (wish) => {
      const loan = this.#lend(wish, socket).catch((error: unknown) =>
        send(socket, { kind: 'refused', reason: String(error) }),
      );
      this.#loans.add(loan);
      void loan.then(() => this.#loans.delete(loan));
    });
  }

  /** Resolves when the engine has been given back or has ended. */
  async #lend(wish: string, socket: Socket): Promise<void> {
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    const engine = (await this.#keptFor(wish)) ?? (await this.#start(wish));
    const { program, url, ports } = engine;
    const { name, logFile, keeperPid, pid } = program;
    if (keeperPid === undefined || pid === undefined) throw new Error(`${name} has ended`);
    send(socket, { kind: 'lent', name, logFile, keeperPid, pid, url, ports });
    const ended = program.ended.then((status) => send(socket, { kind: 'ended', status }));
    if (!socket.destroyed) await Promise.race([closed, ended]);
    if (program.status === undefined) await this.#keep({ wish, engine });
  }

  async #start(wish: string): Promise<Vllm | Sglang> {
    if (this.#stopped) throw new Error('the tests are over');
    const engine = await this.#startEngine(JSON.parse(wish) as EngineWish);
    const { program } = engine;
    this.#running.add(program);
    void program.ended.then(() => this.#running.delete(program));
    return engine;
  }

  async #keptFor(wish: string): Promise<Vllm | Sglang | undefined> {
    const kept = this.#idle.find((one) => one.wish === wish);
    if (kept === undefined) return undefined;
    this.#idle = this.#idle.filter((one) => one !== kept);
    const { engine } = kept;
    const answers = await answersOk(`${engine.url}/health`).catch(() => false);
    if (answers && engine.program.status === undefined) return engine;
    await engine.program.stop();
    return this.#keptFor(wish);
  }

  async #keep(kept: Kept): Promise<void> {
    if (this.#stopped) return;
    this.#idle.push(kept);
    if (this.#idle.length > MOST_IDLE) await this.#idle.shift()?.engine.program.stop();
  }
}

function startEngine(wish: EngineWish): Promise<Vllm | Sglang> {
  if (wish.engine === 'sglang') {
    const { engine: _, ...options } = wish;
    return startSglang({ ...options, model: tinyModel('tiny') });
  }
  const { engine: _, tokenizer, ...options } = wish;
  const model = tokenizer === undefined ? tinyModel('tiny') : modelWithTokenizer(tokenizer);
  return startVllm({ ...options, model });
}

function send(socket: Socket, line: LenderLine): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(line)}\n`);
}
