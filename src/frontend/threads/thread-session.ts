import { type HttpAnswer, textAnswer } from '../../edge/http/answer.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type {
  SecondaryProcess,
  StartSecondaryProcess,
} from '../../edge/platform/processes/secondary-process.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import type { Routing } from '../../fleet/router/routing.js';
import type { RouteAnswer, ThreadMessage, ThreadOrder } from './messages.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';
import { Outbox } from './outbox.js';
import { readThreadMessages } from './read-messages.js';
import { RoutingHost } from './routing-host.js';
import type { ServedBoard } from './served-board.js';

/** How often a process is asked for its metrics: so much of what it has counted is lost when it ends, and no more. */
const ASK_EVERY_MS = 5_000;
/**
 * Questions without a word from it, after which it is ended: no request takes its event loop a tenth of that. They are
 * counted instead of the time, since this process may itself have been stopped for a while.
 */
const MAX_UNHEARD = 6;
/** Longest wait for its metrics; a scraper waits for 10 s. */
const METRICS_TIMEOUT_MS = 2_000;
/** Scrapes that wait for the metrics of one process. */
const MAX_METRICS_ASKED = 64;

/** Why a process cannot serve, in its own words. */
export interface Inability {
  readonly message: string;
  /** Whether it is the fault of a setting. */
  readonly isSetting: boolean;
}

export interface ThreadSessionOptions {
  /** Its number, from 1 on. */
  readonly thread: number;
  /** Of the OpenAI server. */
  readonly port: number;
  /** Of the status page: `127.0.0.1:9463`. */
  readonly statusAddress: string;
  /** Routes that it may have at a time. */
  readonly maxRoutes: number;
}

export interface ThreadSessionModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly turns: EventLoop;
  readonly routing: Routing;
  readonly board: ServedBoard;
  readonly startMember: StartSecondaryProcess;
  /** The page of `/metrics`. */
  page(accept: string): Promise<HttpAnswer>;
}

/** What is told of it, each at most once. */
export interface ThreadSessionEvents {
  onListening(address: string): void;
  onUnable(why: Inability): void;
  /** It is gone; the last one. */
  onEnd(how: string): void;
}

/** One process that serves HTTP, from its start to its end, as the first process sees it. */
export class ThreadSession {
  readonly #options: ThreadSessionOptions;
  readonly #modules: ThreadSessionModules;
  readonly #events: ThreadSessionEvents;
  readonly #member: SecondaryProcess;
  readonly #outbox: Outbox<ThreadOrder>;
  readonly #host: RoutingHost;
  readonly #askedMetrics = new Map<number, () => void>();
  #lastId = 0;
  #metrics: MetricsSnapshot = [];
  #hasBegun = false;
  #isListening = false;
  /** It said what cannot be, and nothing of it is listened to any more. */
  #isCondemned = false;
  #hasEnded = false;
  /** Times that it was asked since it was heard. */
  #unheard = 0;
  #timer: Timer;

  constructor(options: ThreadSessionOptions, modules: ThreadSessionModules, events: ThreadSessionEvents) {
    const { clock, logger, routing, startMember } = modules;
    this.#options = options;
    this.#modules = modules;
    this.#events = events;
    this.#member = startMember({
      onMessage: (batch) => this.#take(batch),
      onEnd: (how) => this.#end(how),
    });
    this.#outbox = new Outbox(this.#member, modules);
    this.#host = new RoutingHost(options, {
      routing,
      logger,
      answer: (answer) => this.#answer(answer),
    });
    this.#timer = clock.setTimer(ASK_EVERY_MS, this.#look);
  }

  /** Whether it takes requests. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Its metrics as last heard. */
  get lastMetrics(): MetricsSnapshot {
    return this.#metrics;
  }

  /** Tells it what is served. */
  show(served: string): void {
    if (this.#hasBegun) this.#outbox.post({ type: 'served', served });
  }

  /** Asks for its metrics; those that were heard last where they do not come in time. */
  metrics(): Promise<MetricsSnapshot> {
    if (!this.#hasBegun || this.#hasEnded || this.#askedMetrics.size >= MAX_METRICS_ASKED)
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

  /** Has it end when its running requests have: at once where it takes none yet. */
  drain(): void {
    if (this.#isListening) this.#outbox.post({ type: 'drain' });
    else this.kill();
  }

  /** Ends it at once. */
  kill(): void {
    this.#member.kill();
  }

  #take(batch: unknown): void {
    if (this.#hasEnded || this.#isCondemned) return;
    this.#unheard = 0;
    const messages = readThreadMessages(batch);
    if (messages?.every((message) => this.#takeOne(message)) === true) return;
    this.#isCondemned = true;
    this.#modules.logger.error(
      { thread: this.#options.thread },
      'An HTTP process said what cannot be, and is ended.',
    );
    this.kill();
  }

  /** False for what cannot be at this time. */
  #takeOne(message: ThreadMessage): boolean {
    switch (message.type) {
      case 'hello':
        if (this.#hasBegun) return false;
        this.#begin();
        return true;
      case 'listening':
        if (this.#isListening) return false;
        this.#isListening = true;
        this.#events.onListening(message.address);
        return true;
      case 'unable':
        this.#events.onUnable(message);
        return true;
      case 'metrics':
        this.#metrics = message.metrics;
        this.#askedMetrics.get(message.id)?.();
        return true;
      case 'ask_page':
        void this.#sendPage(message.id, message.accept);
        return true;
      default:
        return this.#host.take(message);
    }
  }

  #askMetrics(): number {
    this.#lastId += 1;
    this.#outbox.post({ type: 'ask_metrics', id: this.#lastId });
    return this.#lastId;
  }

  #begin(): void {
    const { thread, port, statusAddress } = this.#options;
    this.#hasBegun = true;
    this.#outbox.post({ type: 'start', thread, port, statusAddress, served: this.#modules.board.json });
  }

  async #sendPage(id: number, accept: string): Promise<void> {
    const answer = await this.#modules.page(accept).catch((error: unknown) => {
      this.#modules.logger.error({ error }, 'The page of /metrics could not be made');
      return textAnswer(500, 'Something went wrong here; the log of this process says what.');
    });
    if (!this.#hasEnded) this.#outbox.post({ type: 'page', id, answer });
  }

  #answer(answer: RouteAnswer): void {
    if (answer.type === 'routed') this.#modules.board.prepareFor(answer.decision);
    this.#outbox.post(answer);
  }

  #end(how: string): void {
    this.#hasEnded = true;
    this.#isListening = false;
    this.#timer.clear();
    this.#host.close();
    for (const settle of [...this.#askedMetrics.values()]) settle();
    this.#events.onEnd(how);
  }

  readonly #look = (): void => {
    const { clock, logger } = this.#modules;
    this.#timer = clock.setTimer(ASK_EVERY_MS, this.#look);
    this.#unheard += 1;
    if (this.#unheard < MAX_UNHEARD) {
      this.#askMetrics();
      return;
    }
    logger.error(
      { thread: this.#options.thread },
      `An HTTP process said nothing for ${(MAX_UNHEARD * ASK_EVERY_MS) / 1_000} s, and is ended.`,
    );
    this.kill();
  };
}
