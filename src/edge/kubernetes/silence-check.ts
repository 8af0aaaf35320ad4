import type { Clock, Timer } from '../platform/clock.js';
import type { KubernetesApi } from './api.js';
import { KubernetesError } from './kubernetes-error.js';

/**
 * After so long without an event or a bookmark the server is asked for a
 * single object: a server that is stopped, or a line that was cut without
 * notice, keeps its connections and says nothing on them.
 */
export const CHECK_AFTER_MS = 30_000;

/** What is asked then is small: it comes immediately or not at all. */
const CHECK_TIMEOUT_MS = 10_000;

/**
 * A watch that has been silent for so long although the server answers is
 * resumed over another connection. Servers send a bookmark about once a minute.
 */
const SILENT_AFTER_MS = 90_000;

/** Why a watch is left that fell silent while its server answers. */
export const RESUME: Error = new Error('the watch fell silent');

export interface SilenceCheckModules {
  readonly api: Pick<KubernetesApi, 'name'>;
  readonly clock: Clock;
}

/** Looks after one watch while nothing comes. */
export class SilenceCheck {
  readonly #modules: SilenceCheckModules;
  readonly #check: () => Promise<void>;
  readonly #giveUp: (reason: unknown) => void;
  #timer: Timer | undefined;
  #heardAtMs = 0;
  /** Whether the first question is due before the watch has been silent for long. */
  #isFirst = false;
  #isClosed = false;

  constructor(modules: SilenceCheckModules, check: () => Promise<void>, giveUp: (reason: unknown) => void) {
    this.#modules = modules;
    this.#check = check;
    this.#giveUp = giveUp;
  }

  /** The watch begins; the first question comes after `checkAfterMs`. */
  start(checkAfterMs: number): void {
    this.heard();
    this.#again(checkAfterMs);
    this.#isFirst = checkAfterMs < CHECK_AFTER_MS;
  }

  heard(): void {
    this.#heardAtMs = this.#modules.clock.monotonicMs();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.clear();
  }

  #look(): void {
    this.#timer = undefined;
    const silentMs = this.#modules.clock.monotonicMs() - this.#heardAtMs;
    if (silentMs >= SILENT_AFTER_MS) this.#giveUp(RESUME);
    else if (silentMs < CHECK_AFTER_MS && !this.#isFirst) this.#again(CHECK_AFTER_MS - silentMs);
    else void this.#ask();
    this.#isFirst = false;
  }

  async #ask(): Promise<void> {
    const { clock, api } = this.#modules;
    let hasAnswered = false;
    const timeout = clock.setTimer(CHECK_TIMEOUT_MS, () => {
      if (hasAnswered || this.#isClosed) return;
      const why = `has not answered for ${CHECK_TIMEOUT_MS / 1_000} s, and its watch is silent; the last list stays`;
      this.#giveUp(new KubernetesError('unreachable', `${api.name}: ${why}`));
    });
    try {
      await this.#check();
      hasAnswered = true;
      this.#again(CHECK_AFTER_MS);
    } catch (error) {
      hasAnswered = true;
      this.#giveUp(error);
    } finally {
      timeout.clear();
    }
  }

  #again(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer ??= this.#modules.clock.setTimer(delayMs, () => this.#look());
  }
}
