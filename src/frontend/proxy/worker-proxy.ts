import type { ServerResponse } from 'node:http';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import { UnorderedSet } from '../../edge/platform/data/unordered-set.js';
import type { Logger } from '../../edge/platform/logger.js';
import { Exchange, type ExchangeModules } from './exchange.js';
import { FailureLog } from './failure-log.js';
import type { ProxiedRequest, ProxyOutcome } from './proxied-request.js';
import { DEFAULT_PROXY_OPTIONS, type ProxyOptions } from './proxy-options.js';
import { AccessProblems } from './workers/access-problems.js';
import { WorkerPools } from './workers/worker-pools.js';

export interface WorkerProxyModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often it is looked after requests that take too long; time-outs are late by this at most. */
const CHECK_EVERY_MS = 250;

/**
 * Sends requests to workers and their answers back, as they come. One object
 * for a process; it has a pool of connections to each worker.
 */
export class WorkerProxy {
  readonly #modules: ExchangeModules;
  readonly #running = new UnorderedSet<Exchange>();
  #timer: Timer | undefined;
  #closed: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: Partial<ProxyOptions>, { clock, logger }: WorkerProxyModules) {
    const all = { ...DEFAULT_PROXY_OPTIONS, ...options };
    const access = new AccessProblems(all, { clock, logger });
    const failures = new FailureLog({ clock, logger });
    this.#modules = { options: all, pools: new WorkerPools(all), access, failures, clock, logger };
  }

  /** Requests that are on their way now. */
  get running(): number {
    return this.#running.size;
  }

  /**
   * Has a request answered by a worker. Nothing may have been sent on
   * `response`, and no other code may write to it from here on; its end, and the
   * client's leaving, are looked after. Resolves when the request is over.
   * Never rejects.
   */
  serve(request: ProxiedRequest, response: ServerResponse): Promise<ProxyOutcome> {
    return new Promise((resolve) => {
      const exchange = new Exchange(request, response, this.#modules, (outcome) => {
        this.#running.delete(exchange);
        if (this.#running.size === 0) this.#onIdle?.();
        resolve(outcome);
      });
      if (this.#closed !== undefined) return exchange.cut();
      this.#running.add(exchange);
      this.#timer ??= this.#modules.clock.setTimer(CHECK_EVERY_MS, this.#check);
      exchange.start();
    });
  }

  /** The workers that there are: connections to others are closed when their running requests have ended. */
  setWorkers(baseUrls: ReadonlySet<string>): void {
    this.#modules.pools.keep(baseUrls);
  }

  /**
   * Takes no further requests; running ones may finish within `graceMs` and
   * are cut then. Resolves when no connection to a worker is left. Calling it
   * again waits for the same end.
   */
  close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain(graceMs);
    return this.#closed;
  }

  async #drain(graceMs: number): Promise<void> {
    if (this.#running.size > 0) {
      const done = new AbortController();
      this.#onIdle = () => done.abort();
      await sleep(this.#modules.clock, graceMs, done.signal);
      for (const exchange of this.#running.snapshot()) exchange.cut();
    }
    this.#timer?.clear();
    await this.#modules.pools.destroy();
  }

  readonly #check = (): void => {
    const { clock } = this.#modules;
    const nowMs = clock.monotonicMs();
    for (const exchange of this.#running.snapshot()) exchange.check(nowMs);
    this.#timer = this.#running.size > 0 ? clock.setTimer(CHECK_EVERY_MS, this.#check) : undefined;
  };
}
