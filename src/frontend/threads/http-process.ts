import { type HttpAnswer, textAnswer } from '../../edge/http/answer.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type {
  SecondaryProcess,
  StartSecondaryProcess,
} from '../../edge/platform/processes/secondary-process.js';
import { type Assignment, type ProcessOrder, type ProcessReport, readReport } from './messages.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';

/** How often a process is asked for its metrics: counts of so much time are lost when it ends, and no more. */
const ASK_EVERY_MS = 5_000;
/**
 * Questions without an answer, after which it is ended: no request takes its event loop a tenth of that. They are
 * counted instead of the time, since this process may itself have been stopped for a while.
 */
const MAX_UNANSWERED = 6;
/** Longest wait for its metrics; a scraper waits for 10 s. */
const METRICS_TIMEOUT_MS = 2_000;
/** Scrapes that wait for the metrics of one process. */
const MAX_METRICS_ASKED = 64;

/** Why a process cannot serve, in its own words. */
export interface Inability {
  readonly message: string;
  /** Whether a setting is wrong. */
  readonly isSetting: boolean;
}

export interface HttpProcessModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startProcess: StartSecondaryProcess;
  /** The page of `/metrics`. */
  page(accept: string): Promise<HttpAnswer>;
}

/** What is reported of it, each at most once. */
export interface HttpProcessEvents {
  onListening(address: string): void;
  onUnable(why: Inability): void;
  /** It is gone; the last one. */
  onEnd(how: string): void;
}

/** One process that serves HTTP, from its start to its end, as the first process sees it. */
export class HttpProcess {
  readonly #thread: number;
  readonly #modules: HttpProcessModules;
  readonly #events: HttpProcessEvents;
  readonly #process: SecondaryProcess;
  readonly #askedMetrics = new Map<number, () => void>();
  #lastId = 0;
  #metrics: MetricsSnapshot = [];
  #isListening = false;
  /** It sent what is no report, and nothing of it is read any more. */
  #isRejected = false;
  #hasEnded = false;
  /** Times that it was asked since it was heard. */
  #unanswered = 0;
  #timer: Timer;

  constructor(assignment: Assignment, modules: HttpProcessModules, events: HttpProcessEvents) {
    this.#thread = assignment.thread;
    this.#modules = modules;
    this.#events = events;
    this.#process = modules.startProcess(JSON.stringify(assignment), {
      onMessage: (message) => this.#take(message),
      onEnd: (how) => this.#end(how),
    });
    this.#timer = modules.clock.setTimer(ASK_EVERY_MS, this.#look);
  }

  /** Whether it takes requests. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Its metrics as last heard. */
  get lastMetrics(): MetricsSnapshot {
    return this.#metrics;
  }

  /** Asks for its metrics; those that were heard last where they do not come in time. */
  metrics(): Promise<MetricsSnapshot> {
    if (!this.#isListening || this.#askedMetrics.size >= MAX_METRICS_ASKED)
      return Promise.resolve(this.#metrics);
    const id = this.#askMetrics();
    return new Promise((resolve) => {
      const timer = this.#modules.clock.setTimer(METRICS_TIMEOUT_MS, () => settle());
      const settle = (): void => {
        timer.clear();
        this.#askedMetrics.delete(id);
        resolve(this.#metrics);
      };
      this.#askedMetrics.set(id, settle);
    });
  }

  /** Has it end when its running requests have; immediately where it takes none yet. */
  drain(): void {
    if (this.#isListening) this.#order({ type: 'drain' });
    else this.kill();
  }

  /** Ends it immediately. */
  kill(): void {
    this.#process.kill();
  }

  #take(message: unknown): void {
    if (this.#hasEnded || this.#isRejected) return;
    this.#unanswered = 0;
    const report = readReport(message);
    if (report !== undefined && this.#takeReport(report)) return;
    this.#isRejected = true;
    this.#modules.logger.error(
      { thread: this.#thread },
      'An HTTP process sent a message that is not valid, and is ended.',
    );
    this.kill();
  }

  /** False for what cannot be at this time. */
  #takeReport(report: ProcessReport): boolean {
    switch (report.type) {
      case 'listening':
        if (this.#isListening) return false;
        this.#isListening = true;
        this.#events.onListening(report.address);
        return true;
      case 'unable':
        this.#events.onUnable(report);
        return true;
      case 'metrics':
        this.#metrics = report.metrics;
        this.#askedMetrics.get(report.id)?.();
        return true;
      case 'ask_page':
        void this.#sendPage(report.id, report.accept);
        return true;
    }
  }

  #askMetrics(): number {
    this.#lastId += 1;
    this.#order({ type: 'ask_metrics', id: this.#lastId });
    return this.#lastId;
  }

  async #sendPage(id: number, accept: string): Promise<void> {
    const answer = await this.#modules.page(accept).catch((error: unknown) => {
      this.#modules.logger.error({ error }, 'The page of /metrics could not be made');
      return textAnswer(500, 'Something went wrong here; the log of this process says what.');
    });
    if (!this.#hasEnded) this.#order({ type: 'page', id, answer });
  }

  #order(order: ProcessOrder): void {
    this.#process.send(order);
  }

  #end(how: string): void {
    this.#hasEnded = true;
    this.#isListening = false;
    this.#timer.clear();
    for (const settle of [...this.#askedMetrics.values()]) settle();
    this.#events.onEnd(how);
  }

  readonly #look = (): void => {
    const { clock, logger } = this.#modules;
    this.#timer = clock.setTimer(ASK_EVERY_MS, this.#look);
    this.#unanswered += 1;
    if (this.#unanswered < MAX_UNANSWERED) {
      this.#askMetrics();
      return;
    }
    logger.error(
      { thread: this.#thread },
      `An HTTP process said nothing for ${(MAX_UNANSWERED * ASK_EVERY_MS) / 1_000} s, and is ended.`,
    );
    this.kill();
  };
}
