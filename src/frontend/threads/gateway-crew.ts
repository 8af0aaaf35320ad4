import type { Registry } from 'prom-client';
import { MetricsPage } from '../../edge/http/metrics-page.js';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { StartSecondaryProcess } from '../../edge/platform/processes/secondary-process.js';
import type { Random } from '../../edge/platform/random.js';
import { backoffMs } from '../../edge/platform/time/backoff.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import type { Routing } from '../../fleet/router/routing.js';
import type { Served } from './messages.js';
import { joined, type MetricsSnapshot, ofGroups, remainsOf, sumOf } from './metrics-snapshot.js';
import { ServedBoard } from './served-board.js';
import { CrewMetrics } from './thread-metrics.js';
import { type Inability, ThreadSession } from './thread-session.js';

/** How long a process must have served to count as sound: the wait before its next start is then short again. */
const SOUND_AFTER_MS = 60_000;
/** Longest time from the end of the drain to the end of a process: closing what is open takes milliseconds. */
const END_GRACE_MS = 5_000;

export interface GatewayCrewOptions {
  /** Processes that serve HTTP; at least 1. */
  readonly threads: number;
  /** Of the OpenAI server; not 0. */
  readonly port: number;
  /** Of the status page: `127.0.0.1:9463`. */
  readonly statusAddress: string;
  /** Requests that each of them has at a time. */
  readonly maxRequests: number;
  /** How long each lets its running requests go on at its end. */
  readonly drainTimeoutMs: number;
}

export interface GatewayCrewModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly turns: EventLoop;
  readonly registry: Registry;
  readonly routing: Routing;
  readonly startMember: StartSecondaryProcess;
}

/** A process could not serve at the start; the others were ended. */
export class CrewError extends Error {
  override readonly name = 'CrewError';
  /** Whether it is the fault of a setting. */
  readonly isSetting: boolean;

  constructor({ message, isSetting }: Inability) {
    super(message);
    this.isSetting = isSetting;
  }
}

/** The place of one process: whoever has it. */
interface Seat {
  readonly thread: number;
  session: ThreadSession | undefined;
  /** Why it could not serve, in its own words. */
  inability: Inability | undefined;
  startedMs: number;
  /** Ends without a sound time between them. */
  failures: number;
  timer: Timer | undefined;
}

/**
 * The processes that serve HTTP for `--threads`. One that ends is started anew;
 * what it had reserved is released at once, and the others go on. Its counts
 * stay in the sums.
 */
export class GatewayCrew {
  readonly #options: GatewayCrewOptions;
  readonly #modules: GatewayCrewModules;
  readonly #board: ServedBoard;
  readonly #page: MetricsPage;
  readonly #seats: readonly Seat[];
  readonly #metrics: CrewMetrics;
  /** Counts of processes that are gone. */
  #remains: MetricsSnapshot = [];
  #served: Served;
  #isStopping = false;
  #started: { resolve(address: string): void; reject(error: Error): void } | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: GatewayCrewOptions, served: Served, modules: GatewayCrewModules) {
    this.#options = options;
    this.#modules = modules;
    this.#served = served;
    const { registry, clock } = modules;
    this.#board = new ServedBoard(served, {
      clock,
      push: (json) => {
        for (const { session } of this.#seats) session?.show(json);
      },
    });
    this.#page = MetricsPage.of(registry);
    this.#page.include((contentType) => this.#sum(contentType));
    this.#seats = Array.from({ length: options.threads }, (_, index) => ({
      thread: index + 1,
      session: undefined,
      inability: undefined,
      startedMs: 0,
      failures: 0,
      timer: undefined,
    }));
    this.#metrics = new CrewMetrics(
      registry,
      () => this.#seats.filter(({ session }) => session?.isListening === true).length,
    );
  }

  /**
   * Starts all of them; resolves with the address of the OpenAI server when
   * each takes requests. Rejects with a `CrewError` when one cannot, and then
   * none is left.
   */
  async start(): Promise<string> {
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#started = { resolve, reject };
        for (const seat of this.#seats) this.#occupy(seat);
      });
    } catch (error) {
      this.#started = undefined;
      this.#isStopping = true;
      for (const { session } of this.#seats) session?.kill();
      await this.#emptied();
      this.#board.close();
      throw error;
    }
  }

  /** Tells all of them what is served. */
  show(served: Served): void {
    this.#served = served;
    this.#board.show(served);
  }

  /** Lets running requests end; resolves when no process is left. */
  async stop(): Promise<void> {
    const { clock, logger } = this.#modules;
    this.#isStopping = true;
    for (const { session, timer } of this.#seats) {
      timer?.clear();
      session?.drain();
    }
    const done = new AbortController();
    const empty = this.#emptied().then(() => done.abort());
    await sleep(clock, this.#options.drainTimeoutMs + END_GRACE_MS, done.signal);
    for (const { thread, session } of this.#seats) {
      if (session === undefined) continue;
      logger.warn({ thread }, 'An HTTP process did not end in time and is ended now.');
      session.kill();
    }
    await empty;
    this.#board.close();
  }

  #occupy(seat: Seat): void {
    const { thread } = seat;
    const { port, statusAddress, maxRequests } = this.#options;
    seat.timer = undefined;
    seat.inability = undefined;
    seat.startedMs = this.#modules.clock.monotonicMs();
    seat.session = new ThreadSession(
      // A request has one route; another one may still be on its way to somebody who does not wait any longer.
      { thread, port, statusAddress, maxRoutes: 2 * maxRequests },
      { ...this.#modules, board: this.#board, page: (accept) => this.#page.answer(accept) },
      {
        onListening: (address) => this.#onListening(seat, address),
        onUnable: (why) => {
          seat.inability = why;
        },
        onEnd: (how) => this.#onEnd(seat, how),
      },
    );
  }

  #onListening({ thread, failures }: Seat, address: string): void {
    if (failures > 0) this.#modules.logger.info({ thread }, `HTTP process ${thread} serves again.`);
    if (this.#started === undefined) return;
    if (!this.#seats.every(({ session }) => session?.isListening === true)) return;
    this.#started.resolve(address);
    this.#started = undefined;
  }

  #onEnd(seat: Seat, how: string): void {
    const { clock, logger, random } = this.#modules;
    const { thread, session, inability, startedMs } = seat;
    seat.session = undefined;
    if (session !== undefined)
      this.#remains = joined(this.#remains, remainsOf(this.#ofServed(session.lastMetrics)));
    if (this.#isStopping) {
      if (this.#seats.every((one) => one.session === undefined)) this.#onEmpty?.();
      return;
    }
    const words = `HTTP process ${thread} ${how}${inability === undefined ? '' : `: ${inability.message}`}`;
    if (this.#started !== undefined) {
      this.#started.reject(
        new CrewError(inability ?? { message: `${words} before it served`, isSetting: false }),
      );
      return;
    }
    seat.failures = clock.monotonicMs() - startedMs >= SOUND_AFTER_MS ? 1 : seat.failures + 1;
    const waitMs = backoffMs(seat.failures, random);
    logger.error(
      { thread },
      `${words}. Its requests are lost and no longer count as active; it is started anew in ${Math.round(waitMs)} ms.`,
    );
    this.#metrics.countRestart();
    seat.timer = clock.setTimer(waitMs, () => this.#occupy(seat));
  }

  #emptied(): Promise<void> {
    if (this.#seats.every(({ session }) => session === undefined)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  async #sum(contentType: Parameters<typeof sumOf>[1]): Promise<ReturnType<typeof sumOf>> {
    const { registry } = this.#modules;
    const asked = await Promise.all(this.#seats.map(({ session }) => session?.metrics() ?? []));
    this.#remains = this.#ofServed(this.#remains);
    const snapshots = [this.#remains, ...asked.map((snapshot) => this.#ofServed(snapshot))];
    // A name that is taken here would spoil the whole page.
    const others = snapshots.map((snapshot) =>
      snapshot.filter(({ name }) => registry.getSingleMetric(name) === undefined),
    );
    return sumOf(others, contentType);
  }

  /** Without the series of groups that are there no more. */
  #ofServed(snapshot: MetricsSnapshot): MetricsSnapshot {
    return ofGroups(snapshot, new Set(this.#served.catalogue.groups.map(({ group }) => group)));
  }
}
