import type { CrewLink } from '../../platform/crew.js';
import type { Turns } from '../../platform/turns.js';

/** Messages of one batch; the other side refuses larger ones. */
export const MAX_BATCH = 256;

/**
 * What goes to another process, gathered for a turn of the event loop: all
 * requests that came in at the same time share one write, one wake-up and one
 * read. While the system has not taken a batch, the next one waits.
 */
export class Outbox<Message> {
  readonly #link: CrewLink;
  readonly #turns: Turns;
  #queue: Message[] = [];
  #isBusy = false;
  #onEmpty: (() => void) | undefined;

  constructor(link: CrewLink, modules: { readonly turns: Turns }) {
    this.#link = link;
    this.#turns = modules.turns;
  }

  /** Messages that wait. */
  get backlog(): number {
    return this.#queue.length;
  }

  post(message: Message): void {
    this.#queue.push(message);
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#turns.soon(() => this.#send());
  }

  /** Resolves once the system has taken all that was posted. */
  emptied(): Promise<void> {
    if (!this.#isBusy) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
    });
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
