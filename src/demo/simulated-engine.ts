import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Address } from '../platform/address.js';
import type { Clock, Timer } from '../platform/clock.js';
import { listen } from '../platform/listen.js';
import type { EnginePage, EngineRun, EngineSetup, EngineSurface } from './engine-surface.js';

/** Paths that are counted apart; an engine has a dozen, and a caller may invent any number. */
const MAX_COUNTED_PATHS = 64;

const LOOPBACK: Address = { type: 'tcp', host: '127.0.0.1', port: 0, text: '127.0.0.1:0' };

/** How an engine stands. */
type State =
  /** Its process is not there. Its port is kept, and whoever connects is hung up on. */
  | { readonly type: 'down' }
  /** It loads its model: every answer is 503. */
  | { readonly type: 'loading'; readonly timer: Timer }
  | { readonly type: 'serving'; readonly pages: Readonly<Record<string, EnginePage>> };

/**
 * An HTTP server on a free port of the loopback that answers what a real
 * engine of its kind answers about itself, and serves no tokens. It can load
 * slowly, crash, and start again with another block size.
 */
export class SimulatedEngine {
  readonly #surface: EngineSurface;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #requests = new Map<string, number>();
  #setup: EngineSetup;
  #state: State = { type: 'down' };
  #lastStartMs = 0;
  #url = '';

  constructor(
    options: { readonly surface: EngineSurface; readonly setup: EngineSetup },
    modules: { readonly clock: Clock },
  ) {
    this.#surface = options.surface;
    this.#setup = options.setup;
    this.#clock = modules.clock;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('connection', (socket) => {
      // A caller that gives up in the middle resets its connection; there is nothing to do about it.
      socket.on('error', () => {});
      if (this.#state.type === 'down') socket.destroy();
    });
  }

  /** As people call its kind: `vLLM`. */
  get name(): string {
    return this.#surface.name;
  }

  /** How it is set up, or will be once it has started. */
  get setup(): EngineSetup {
    return this.#setup;
  }

  /** Base URL, such as `http://127.0.0.1:41234`; empty before `open`. */
  get url(): string {
    return this.#url;
  }

  /** How many requests each path got since it was made, `GET /metrics` and the like. */
  get requests(): ReadonlyMap<string, number> {
    return this.#requests;
  }

  /** Takes a port. The engine is down until `start`. Rejects with a `ListenError`. */
  async open(): Promise<void> {
    const { text } = await listen(this.#server, LOOPBACK, 'simulated engine');
    this.#url = `http://${text}`;
  }

  /**
   * Starts it, or starts it anew: with `changes` to its setup, and after
   * `loadingMs` (default 0) in which it answers 503.
   */
  start(changes: Partial<EngineSetup> = {}, loadingMs = 0): void {
    this.#setup = { ...this.#setup, ...changes };
    const serve = (): void =>
      this.#setState({ type: 'serving', pages: this.#surface.pages(this.#nextRun()) });
    if (loadingMs === 0) serve();
    else this.#setState({ type: 'loading', timer: this.#clock.setTimer(loadingMs, serve) });
  }

  /** Its process is gone until the next `start`. */
  crash(): void {
    this.#setState({ type: 'down' });
    this.#server.closeAllConnections();
  }

  /** Ends everything and gives the port back. */
  async close(): Promise<void> {
    this.crash();
    // Also called, with an error that says nothing new, when it was never open.
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #setState(next: State): void {
    if (this.#state.type === 'loading') this.#state.timer.clear();
    this.#state = next;
  }

  #nextRun(): EngineRun {
    const { tokensPerBlock } = this.#setup;
    // Two starts within a millisecond, or after the clock stepped back, are two starts all the same.
    this.#lastStartMs = Math.max(this.#clock.wallMs(), this.#lastStartMs + 1);
    return {
      configuredTokensPerBlock: tokensPerBlock,
      totalBlocks: 65_536,
      maxModelLen: 8_192,
      ...this.#setup,
      startedAtMs: this.#lastStartMs,
    };
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url?.split('?', 1)[0] ?? '';
    this.#count(`${request.method} ${path}`);
    const state = this.#state;
    if (state.type === 'down') {
      request.socket.destroy();
      return;
    }
    if (state.type === 'loading') {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('the model is being loaded');
      return;
    }
    const page = Object.hasOwn(state.pages, path) ? state.pages[path] : undefined;
    if (page === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
      return;
    }
    response.writeHead(200, { 'content-type': page.contentType }).end(page.body);
  }

  #count(request: string): void {
    const isCounted = this.#requests.has(request) || this.#requests.size < MAX_COUNTED_PATHS;
    const key = isCounted ? request : 'others';
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1);
  }
}
