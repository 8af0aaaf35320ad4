import { type Clock, sleep } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import { holdConversations } from './conversations.js';

/** Between the end of three conversations and the next ones. */
const PAUSE_MS = 400;

/** After conversations that were not answered. */
const RETRY_MS = 2_000;

/** Different people; after them the first ones come again, and find what is left of their text in the caches. */
const PEOPLE = 24;

/** People at a time, as `holdConversations` has them. */
const AT_A_TIME = 3;

/** Conversations without an end, three at a time: about ten requests a second. */
export class DemoTraffic {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    options: { readonly url: string; readonly model: string },
    modules: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#running = this.#run(options, modules);
  }

  /** Ends it; resolves when nothing is on its way any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(
    { url, model }: { readonly url: string; readonly model: string },
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ): Promise<void> {
    const { signal } = this.#stop;
    for (let round = 0; !signal.aborted; round += 1) {
      const people = Array.from(
        { length: AT_A_TIME },
        (_, at) => `person${(round * AT_A_TIME + at) % PEOPLE}`,
      );
      try {
        await holdConversations({ url, model, people }, { clock, signal, onTurn: () => undefined });
        await sleep(clock, PAUSE_MS, signal);
      } catch (error) {
        if (signal.aborted) return;
        // An engine that restarts breaks answers off: people ask again.
        logger.debug({}, `A conversation was broken off: ${describeError(error)}`);
        await sleep(clock, RETRY_MS, signal);
      }
    }
  }
}
