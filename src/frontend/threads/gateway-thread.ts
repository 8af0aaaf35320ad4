import type { Registry } from 'prom-client';
import { type HttpAnswer, textAnswer } from '../../edge/http/answer.js';
import { ProbeBoard } from '../../edge/http/probe-board.js';
import type { Clock } from '../../edge/platform/clock.js';
import { sleep } from '../../edge/platform/clock.js';
import type { PrimaryLink } from '../../edge/platform/processes/secondary-process.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import type { Routing } from '../../fleet/router/routing.js';
import type { Served, ThreadMessage, ThreadOrder } from './messages.js';
import { snapshotOf } from './metrics-snapshot.js';
import { Outbox } from './outbox.js';
import { RemoteRouting, type RemoteRoutingOptions } from './remote-routing.js';
import type { Inability } from './thread-session.js';

/** Longest wait for the page of `/metrics`: longer than the first process waits for its parts. */
const PAGE_TIMEOUT_MS = 5_000;

/** What a process needs to know before it serves. */
type Begun = Pick<Extract<ThreadOrder, { readonly type: 'start' }>, 'thread' | 'port' | 'statusAddress'>;

export interface GatewayThreadModules {
  readonly clock: Clock;
  readonly turns: EventLoop;
  readonly registry: Registry;
  /** Links this process to the first one. */
  link(onMessage: (message: unknown) => void): PrimaryLink;
}

/**
 * The link of a process that serves HTTP to the one that routes: where its
 * catalogue, its probes, its routes and its orders come from. What is said here
 * is believed: that process is the parent of this one and has read no request.
 */
export class GatewayThread {
  readonly probes: ProbeBoard = new ProbeBoard();
  /** Resolves with its number, its port and where the status page is when the first process has reported them. */
  readonly begun: Promise<Begun>;
  /** Resolves when it is to end. */
  readonly drained: Promise<void>;
  readonly #modules: GatewayThreadModules;
  readonly #link: PrimaryLink;
  readonly #outbox: Outbox<ThreadMessage>;
  readonly #routing: RemoteRouting;
  readonly #pages = new Map<number, (answer: HttpAnswer) => void>();
  /** One question for all that ask at the same time for the same form. */
  readonly #askedPages = new Map<string, Promise<HttpAnswer>>();
  #lastId = 0;
  #catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  #onCatalogue: ((catalogue: Catalogue) => void) | undefined;
  #begin: (order: Begun) => void = () => {};
  #drain: () => void = () => {};

  constructor(options: RemoteRoutingOptions, modules: GatewayThreadModules) {
    this.#modules = modules;
    this.begun = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.drained = new Promise((resolve) => {
      this.#drain = resolve;
    });
    this.#link = modules.link((batch) => this.#take(batch as readonly ThreadOrder[]));
    this.#outbox = new Outbox(this.#link, modules);
    this.#routing = new RemoteRouting(options, { ...modules, outbox: this.#outbox });
    this.#outbox.post({ type: 'hello' });
  }

  get routing(): Routing {
    return this.#routing;
  }

  /** What is served; the same object until it changes. */
  get catalogue(): Catalogue {
    return this.#catalogue;
  }

  /** Calls `listener` with what is served, now and whenever it changes. */
  onCatalogue(listener: (catalogue: Catalogue) => void): void {
    this.#onCatalogue = listener;
    listener(this.#catalogue);
  }

  /** It takes requests there. */
  listens(address: string): void {
    this.#outbox.post({ type: 'listening', address });
  }

  /** It cannot serve, and is going to end. */
  isUnable({ message, isSetting }: Inability): void {
    this.#outbox.post({ type: 'unable', message, isSetting });
  }

  /** The page of `/metrics`, of all processes together. */
  page(accept: string | undefined): Promise<HttpAnswer> {
    const form = accept?.includes('application/openmetrics-text') ? 'application/openmetrics-text' : '';
    const asked = this.#askedPages.get(form) ?? this.#askPage(form);
    this.#askedPages.set(form, asked);
    return asked;
  }

  /** Lets the first process know all that there is to know, and leaves it. */
  async close(): Promise<void> {
    this.#routing.close();
    await this.#outbox.emptied();
    this.#link.leave();
  }

  async #askPage(accept: string): Promise<HttpAnswer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const here = new AbortController();
    let answer = textAnswer(503, 'The first process of this server does not answer now.');
    this.#pages.set(id, (page) => {
      answer = page;
      here.abort();
    });
    this.#outbox.post({ type: 'ask_page', id, accept });
    await sleep(this.#modules.clock, PAGE_TIMEOUT_MS, here.signal);
    this.#pages.delete(id);
    this.#askedPages.delete(accept);
    return answer;
  }

  #take(orders: readonly ThreadOrder[]): void {
    for (const order of orders) this.#takeOne(order);
  }

  #takeOne(order: ThreadOrder): void {
    switch (order.type) {
      case 'start':
        this.#show(order.served);
        this.#begin(order);
        return;
      case 'served':
        this.#show(order.served);
        return;
      case 'ask_metrics':
        void this.#sendMetrics(order.id);
        return;
      case 'page':
        this.#pages.get(order.id)?.(order.answer);
        return;
      case 'drain':
        this.#drain();
        return;
      default:
        this.#routing.take(order);
    }
  }

  #show(json: string): void {
    const { catalogue, checks } = JSON.parse(json) as Served;
    this.#catalogue = catalogue;
    this.probes.set('readyz', checks);
    this.#onCatalogue?.(catalogue);
  }

  async #sendMetrics(id: number): Promise<void> {
    this.#outbox.post({ type: 'metrics', id, metrics: await snapshotOf(this.#modules.registry) });
  }
}
