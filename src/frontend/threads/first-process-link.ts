import type { Registry } from 'prom-client';
import { type HttpAnswer, textAnswer } from '../../edge/http/answer.js';
import type { Clock } from '../../edge/platform/clock.js';
import { sleep } from '../../edge/platform/clock.js';
import type { PrimaryLink } from '../../edge/platform/processes/secondary-process.js';
import type { Inability } from './http-process.js';
import type { ProcessOrder, ProcessReport } from './messages.js';
import { snapshotOf } from './metrics-snapshot.js';

/** Longest wait for the page of `/metrics`: longer than the first process waits for its parts. */
const PAGE_TIMEOUT_MS = 5_000;

export interface FirstProcessLinkModules {
  readonly clock: Clock;
  readonly registry: Registry;
  /** Links this process to the first one. */
  link(onMessage: (message: unknown) => void): PrimaryLink;
}

/**
 * The link of an HTTP process to the first process, for its metrics and its
 * end. What comes over it is believed: the first process is the parent of this
 * one and has read no request.
 */
export class FirstProcessLink {
  /** Resolves when this process is to end. */
  readonly drained: Promise<void>;
  readonly #modules: FirstProcessLinkModules;
  readonly #parent: PrimaryLink;
  readonly #pages = new Map<number, (answer: HttpAnswer) => void>();
  /** One question for all that ask at the same time for the same form. */
  readonly #askedPages = new Map<string, Promise<HttpAnswer>>();
  #lastId = 0;
  #drain: () => void = () => {};

  constructor(modules: FirstProcessLinkModules) {
    this.#modules = modules;
    this.drained = new Promise((resolve) => {
      this.#drain = resolve;
    });
    this.#parent = modules.link((order) => this.#take(order as ProcessOrder));
  }

  /** Reports that this process takes requests there. */
  reportListening(address: string): void {
    this.#report({ type: 'listening', address });
  }

  /** Reports that this process cannot serve, and is going to end. */
  reportUnable({ message, isSetting }: Inability): void {
    this.#report({ type: 'unable', message, isSetting });
  }

  /** The page of `/metrics`, of all processes together. */
  page(accept: string | undefined): Promise<HttpAnswer> {
    const form = accept?.includes('application/openmetrics-text') ? 'application/openmetrics-text' : '';
    const asked = this.#askedPages.get(form) ?? this.#askPage(form);
    this.#askedPages.set(form, asked);
    return asked;
  }

  close(): void {
    this.#parent.leave();
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
    this.#report({ type: 'ask_page', id, accept });
    await sleep(this.#modules.clock, PAGE_TIMEOUT_MS, here.signal);
    this.#pages.delete(id);
    this.#askedPages.delete(accept);
    return answer;
  }

  #take(order: ProcessOrder): void {
    switch (order.type) {
      case 'ask_metrics':
        void this.#sendMetrics(order.id);
        return;
      case 'page':
        this.#pages.get(order.id)?.(order.answer);
        return;
      case 'drain':
        this.#drain();
    }
  }

  async #sendMetrics(id: number): Promise<void> {
    this.#report({ type: 'metrics', id, metrics: await snapshotOf(this.#modules.registry) });
  }

  #report(report: ProcessReport): void {
    this.#parent.send(report);
  }
}
