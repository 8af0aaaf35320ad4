import type { Registry } from 'prom-client';
import { MetricsPage } from '../../edge/http/metrics-page.js';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { StartSecondaryProcess } from '../../edge/platform/processes/secondary-process.js';
import type { Random } from '../../edge/platform/random.js';
import { backoffMs } from '../../edge/platform/time/backoff.js';
import { HttpProcess, type Inability } from './http-process.js';
import type { Assignment } from './messages.js';
import { joined, type MetricsSnapshot, ofGroups, remainsOf, sumOf } from './metrics-snapshot.js';
import { ProcessCountMetrics } from './process-metrics.js';

/** How long a process must have served to count as sound: the wait before its next start is then short again. */
const SOUND_AFTER_MS = 60_000;
/** Longest time from the end of the drain to the end of a process: closing what is open takes milliseconds. */
const END_GRACE_MS = 5_000;

export interface HttpProcessesOptions extends Omit<Assignment, 'thread'> {
  /** Processes that serve HTTP; at least 1. */
  readonly threads: number;
  /** How long each lets its running requests go on at its end. */
  readonly drainTimeoutMs: number;
}

export interface HttpProcessesModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: Random;
  readonly registry: Registry;
  readonly startProcess: StartSecondaryProcess;
  /** The groups that are served now: the series of others are left out of the page. */
  groups(): readonly string[];
}

/** A process could not serve at the start; the others were ended. */
export class HttpProcessesError extends Error {
  override readonly name = 'HttpProcessesError';
  /** Whether a setting is wrong. */
  readonly isSetting: boolean;

  constructor({ message, isSetting }: Inability) {
    super(message);
    this.isSetting = isSetting;
  }
}

/** The place of one HTTP process, whichever has it now. */
interface Slot {
  readonly thread: number;
  server: HttpProcess | undefined;
  /** Why it could not serve, in its own words. */
  inability: Inability | undefined;
  startedMs: number;
  /** Ends without a sound time between them. */
  failures: number;
  timer: Timer | undefined;
}

/**
 * The processes that serve HTTP for `--threads`. One that ends is started
 * again; the router releases what it had reserved, and the others go on. Its
 * counts stay in the sums.
 */
export class HttpProcesses {
  readonly #options: HttpProcessesOptions;
  readonly #modules: HttpProcessesModules;
  readonly #page: MetricsPage;
  readonly #slots: readonly Slot[];
  readonly #metrics: ProcessCountMetrics;
  /** Counts of processes that are gone. */
  #remains: MetricsSnapshot = [];
  #isStopping = false;
  #started: { resolve(address: string): void; reject(error: Error): void } | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(options: HttpProcessesOptions, modules: HttpProcessesModules) {
    this.#options = options;
    this.#modules = modules;
    const { registry } = modules;
    this.#page = MetricsPage.of(registry);
    this.#page.include((contentType) => this.#sum(contentType));
    this.#slots = Array.from({ length: options.threads }, (_, index) => ({
      thread: index + 1,
      server: undefined,
      inability: undefined,
      startedMs: 0,
      failures: 0,
      timer: undefined,
    }));
    this.#metrics = new ProcessCountMetrics(
      registry,
      () => this.#slots.filter(({ server }) => server?.isListening === true).length,
    );
  }

  /**
   * Starts all of them; resolves with the address of the OpenAI server when
   * each takes requests. Rejects with an `HttpProcessesError` when one cannot,
   * and then none is left.
   */
  async start(): Promise<string> {
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#started = { resolve, reject };
        for (const slot of this.#slots) this.#fill(slot);
      });
    } catch (error) {
      this.#started = undefined;
      this.#isStopping = true;
      for (const { server } of this.#slots) server?.kill();
      await this.#emptied();
      throw error;
    }
  }

  /** Lets running requests end; resolves when no process is left. */
  async stop(): Promise<void> {
    const { clock, logger } = this.#modules;
    this.#isStopping = true;
    for (const { server, timer } of this.#slots) {
      timer?.clear();
      server?.drain();
    }
    const done = new AbortController();
    const empty = this.#emptied().then(() => done.abort());
    await sleep(clock, this.#options.drainTimeoutMs + END_GRACE_MS, done.signal);
    for (const { thread, server } of this.#slots) {
      if (server === undefined) continue;
      logger.warn({ thread }, 'An HTTP process did not end in time and is ended now.');
      server.kill();
    }
    await empty;
  }

  #fill(slot: Slot): void {
    const { thread } = slot;
    const { threads: _, drainTimeoutMs: __, ...assignment } = this.#options;
    slot.timer = undefined;
    slot.inability = undefined;
    slot.startedMs = this.#modules.clock.monotonicMs();
    slot.server = new HttpProcess(
      { thread, ...assignment },
      { ...this.#modules, page: (accept) => this.#page.answer(accept) },
      {
        onListening: (address) => this.#onListening(slot, address),
        onUnable: (why) => {
          slot.inability = why;
        },
        onEnd: (how) => this.#onEnd(slot, how),
      },
    );
  }

  #onListening({ thread, failures }: Slot, address: string): void {
    if (failures > 0) this.#modules.logger.info({ thread }, `HTTP process ${thread} serves again.`);
    if (this.#started === undefined) return;
    if (!this.#slots.every(({ server }) => server?.isListening === true)) return;
    this.#started.resolve(address);
    this.#started = undefined;
  }

  #onEnd(slot: Slot, how: string): void {
    const { clock, logger, random } = this.#modules;
    const { thread, server, inability, startedMs } = slot;
    slot.server = undefined;
    if (server !== undefined)
      this.#remains = joined(this.#remains, remainsOf(this.#ofServed(server.lastMetrics)));
    if (this.#isStopping) {
      if (this.#slots.every((one) => one.server === undefined)) this.#onEmpty?.();
      return;
    }
    const message = `HTTP process ${thread} ${how}${inability === undefined ? '' : `: ${inability.message}`}`;
    if (this.#started !== undefined) {
      this.#started.reject(
        new HttpProcessesError(inability ?? { message: `${message} before it served`, isSetting: false }),
      );
      return;
    }
    slot.failures = clock.monotonicMs() - startedMs >= SOUND_AFTER_MS ? 1 : slot.failures + 1;
    const waitMs = backoffMs(slot.failures, random);
    logger.error(
      { thread },
      `${message}. Its requests are lost and no longer count as active; it is started again in ${Math.round(waitMs)} ms.`,
    );
    this.#metrics.countRestart();
    slot.timer = clock.setTimer(waitMs, () => this.#fill(slot));
  }

  #emptied(): Promise<void> {
    if (this.#slots.every(({ server }) => server === undefined)) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  async #sum(contentType: Parameters<typeof sumOf>[1]): Promise<ReturnType<typeof sumOf>> {
    const { registry } = this.#modules;
    const asked = await Promise.all(this.#slots.map(({ server }) => server?.metrics() ?? []));
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
    return ofGroups(snapshot, new Set(this.#modules.groups()));
  }
}
