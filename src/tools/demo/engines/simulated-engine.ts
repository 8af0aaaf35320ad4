import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Address } from '../../../edge/platform/address.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import { listen } from '../../../edge/platform/net/listen.js';
import type { EnginePage, EngineRun, EngineSetup, EngineSurface, KvEventStyle } from './engine-surface.js';
import { type ComputedPrompt, KvCache } from './kv-cache.js';
import { type KvEventPorts, KvPublisher } from './kv-publisher.js';
import { type Packable, packBatch } from './msgpack.js';
import { engineIdOf, SimulatedOpenAi } from './simulated-openai.js';

/** Paths that are counted apart; an engine has a dozen, and a caller may invent any number. */
const MAX_COUNTED_PATHS = 64;

const LOOPBACK: Address = { type: 'tcp', host: '127.0.0.1', port: 0, text: '127.0.0.1:0' };

/** It answers. */
interface Serving {
  readonly type: 'serving';
  readonly run: EngineRun;
  readonly pages: Readonly<Record<string, EnginePage>>;
  readonly files: Readonly<Record<string, string>>;
  readonly cache: KvCache;
}

/** How an engine stands. */
type State =
  /** Its process is not there. Its port is kept, and every connection is closed. */
  | { readonly type: 'down' }
  /** It loads its model: every answer is 503. */
  | { readonly type: 'loading'; readonly timer: Timer }
  | Serving;

/**
 * An HTTP server on a free port of the loopback that answers what a real
 * engine of its kind answers about itself. It has no model, but it keeps the
 * KV blocks of what it is asked, and publishes its KV events as a real one
 * does. It can load slowly, crash, and start again with another block size.
 */
export class SimulatedEngine {
  readonly #surface: EngineSurface;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #openAi: SimulatedOpenAi;
  readonly #requests = new Map<string, number>();
  #setup: EngineSetup;
  #state: State = { type: 'down' };
  #lastStartMs = 0;
  #url = '';
  #publisher: KvPublisher | undefined;

  constructor(
    options: { readonly surface: EngineSurface; readonly setup: EngineSetup },
    modules: { readonly clock: Clock },
  ) {
    this.#surface = options.surface;
    this.#setup = options.setup;
    this.#clock = modules.clock;
    this.#openAi = new SimulatedOpenAi(modules);
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

  /** Where it publishes KV events; undefined before `open`, and when it publishes none. */
  get kvEventPorts(): KvEventPorts | undefined {
    return this.#publisher?.ports;
  }

  /** The root folder of Dynamo's file discovery; undefined for an engine outside of Dynamo. */
  get discoveryFolder(): string | undefined {
    return this.#surface.discovery?.folder;
  }

  /** The files in that folder, texts by path; none while it is not up. */
  get files(): Readonly<Record<string, string>> {
    return this.#state.type === 'serving' ? this.#state.files : {};
  }

  /** How many requests each path got since it was made, `GET /metrics` and the like. */
  get requests(): ReadonlyMap<string, number> {
    return this.#requests;
  }

  /** Takes its ports. The engine is down until `start`. Rejects with a `ListenError`. */
  async open(): Promise<void> {
    const { text } = await listen(this.#server, LOOPBACK, 'simulated engine');
    this.#url = `http://${text}`;
    if (this.#kvEvents !== undefined) this.#publisher = await KvPublisher.open();
  }

  /**
   * Starts or restarts it: with `changes` to its setup, and after
   * `loadingMs` (default 0) in which it answers 503.
   */
  start(changes: Partial<EngineSetup> = {}, loadingMs = 0): void {
    this.#setup = { ...this.#setup, ...changes };
    const serve = (): void => this.#serve(this.#nextRun());
    if (loadingMs === 0) serve();
    else this.#setState({ type: 'loading', timer: this.#clock.setTimer(loadingMs, serve) });
  }

  /**
   * Computes a prompt: what is not in its KV cache yet is kept there, and published
   * as KV events. Throws when it is not up.
   */
  prompt(tokenIds: readonly number[]): ComputedPrompt {
    if (this.#state.type !== 'serving') throw new Error('an engine that is not up computes no prompt');
    return this.#compute(this.#state, tokenIds);
  }

  /** Its process is gone until the next `start`. */
  crash(): void {
    this.#setState({ type: 'down' });
    this.#server.closeAllConnections();
  }

  /** Ends everything and gives its ports back. */
  async close(): Promise<void> {
    this.crash();
    await this.#publisher?.close();
    // Also called, with an error that says nothing new, when it was never open.
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** How it words its KV events; undefined when it publishes none. */
  get #kvEvents(): KvEventStyle | undefined {
    return this.#setup.publishesKvEvents === true ? this.#surface.kvEvents : undefined;
  }

  #compute(state: Serving, tokenIds: readonly number[]): ComputedPrompt {
    const computed = state.cache.compute(tokenIds);
    const { stored, evicted } = computed;
    // What a start before this one computes for a client that still waits changes nothing here.
    if (state === this.#state)
      this.#publish((style) => [
        ...(evicted.length === 0 ? [] : style.removed(evicted)),
        ...(stored.length === 0 ? [] : [style.stored(stored, state.run.tokensPerBlock)]),
      ]);
    return computed;
  }

  #serve(run: EngineRun): void {
    run.part?.network.join(engineIdOf(run));
    this.#setState({
      type: 'serving',
      run,
      pages: this.#surface.pages(run),
      files: this.#surface.discovery?.files(run) ?? {},
      cache: new KvCache(run),
    });
    this.#publisher?.restart();
    this.#publish((style) => style.atStart);
  }

  /** One batch, as an engine makes one of each of its steps; none where nothing changed. */
  #publish(eventsOf: (style: KvEventStyle) => readonly Packable[]): void {
    const events = this.#kvEvents === undefined ? [] : eventsOf(this.#kvEvents);
    if (events.length > 0) this.#publisher?.publish(packBatch(this.#clock.wallMs() / 1_000, events, 0));
  }

  #setState(next: State): void {
    if (this.#state.type === 'loading') this.#state.timer.clear();
    if (this.#state.type === 'serving') this.#state.run.part?.network.leave(engineIdOf(this.#state.run));
    this.#state = next;
  }

  #nextRun(): EngineRun {
    const { tokensPerBlock } = this.#setup;
    const { kvEventPorts } = this;
    // Two starts within a millisecond, or after the clock stepped back, are two starts all the same.
    this.#lastStartMs = Math.max(this.#clock.wallMs(), this.#lastStartMs + 1);
    return {
      configuredTokensPerBlock: tokensPerBlock,
      totalBlocks: 65_536,
      maxModelLen: 8_192,
      ...this.#setup,
      startedAtMs: this.#lastStartMs,
      ...(kvEventPorts === undefined ? {} : { kvEventPorts }),
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
    if (request.method === 'POST' && this.#surface.servesOpenAi === true) {
      const compute = (tokenIds: readonly number[]): ComputedPrompt => this.#compute(state, tokenIds);
      void this.#openAi.answer(path, request, response, { run: state.run, compute });
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
