import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { ProcessLink } from '../../edge/platform/processes/secondary-process.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';

/** Messages of one batch; the other side refuses larger ones. */
export const MAX_BATCH = 256;

/**
 * How long a message without haste waits for one to go with: long enough to go with the next request while there is
 * load, and nothing to a request, which takes hundreds of it.
 */
const NO_HASTE_MS = 5;

export interface OutboxModules {
  readonly clock: Clock;
  readonly turns: EventLoop;
}

/**
 * What goes to another process, gathered for a turn of the event loop: all
 * requests that came in at the same time share one write, one wake-up and one
 * read. While the system has not taken a batch, the next one waits.
 */
export class Outbox<Message> {
  readonly #link: ProcessLink;
  readonly #modules: OutboxModules;
  #queue: Message[] = [];
  #isBusy = false;
  /** Runs while all that waits is without haste. */
  #timer: Timer | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(link: ProcessLink, modules: OutboxModules) {
    this.#link = link;
    this.#modules = modules;
  }

  /** Messages that wait. */
  get backlog(): number {
    return this.#queue.length;
  }

  post(message: Message): void {
    this.#queue.push(message);
    this.#sendSoon();
  }

  /** Posts what nobody waits for: it goes with the next message, or a little later. The order stays. */
  postWithoutHaste(message: Message): void {
    this.#queue.push(message);
    if (this.#isBusy) return;
    if (this.#queue.length >= MAX_BATCH) this.#sendSoon();
    else this.#timer ??= this.#modules.clock.setTimer(NO_HASTE_MS, () => this.#sendSoon());
  }

  /** Resolves once the system has taken all that was posted. */
  emptied(): Promise<void> {
    if (this.#queue.length > 0) this.#sendSoon();
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  #sendSoon(): void {
    if (this.#isBusy) return;
    this.#timer?.clear();
    this.#timer = undefined;
    this.#isBusy = true;
    this.#modules.turns.soon(() => this.#send());
  }

  #send(): void {
    const batch = this.#queue.length <= MAX_BATCH ? this.#queue : this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.length <= MAX_BATCH ? [] : this.#queue.slice(MAX_BATCH);
    this.#link.send(batch, () => {
      if (this.#queue.length > 0) this.#send();
      else {
        this.#isBusy = false;
        this.#onEmpty?.();
      }
    });
  }
}
