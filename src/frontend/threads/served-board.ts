import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { Decision } from '../../fleet/router/routing.js';
import { Models } from '../gateway/models.js';
import type { Served } from './messages.js';

/**
 * Shortest time between two pushes. A catalogue of 1,000 workers is 200 kB, and
 * while a fleet starts it changes with each worker.
 */
const PUSH_EVERY_MS = 100;

export interface ServedBoardModules {
  readonly clock: Clock;
  /** Tells every process. */
  push(json: string): void;
}

/** What is served, on its way to the processes that serve HTTP: told when it changes, and not too often. */
export class ServedBoard {
  readonly #modules: ServedBoardModules;
  #latest: Served;
  #latestModels: Models | undefined;
  #pushed: Served;
  #pushedModels: Models | undefined;
  #pushedJson: string;
  #timer: Timer | undefined;
  #isBehind = false;

  constructor(served: Served, modules: ServedBoardModules) {
    this.#modules = modules;
    this.#latest = served;
    this.#pushed = served;
    this.#pushedJson = JSON.stringify(served);
  }

  /** As it was last pushed: for a process that starts, which is then told of what follows. */
  get json(): string {
    return this.#pushedJson;
  }

  show(served: Served): void {
    this.#latest = served;
    this.#latestModels = undefined;
    this.#isBehind = true;
    if (this.#timer === undefined) this.#push();
  }

  /** Sees to it that whoever is told of a decision knows the worker. */
  prepareFor({ group, target }: Pick<Decision, 'group' | 'target'>): void {
    if (!this.#isBehind) return;
    this.#latestModels ??= new Models(this.#latest.catalogue);
    this.#pushedModels ??= new Models(this.#pushed.catalogue);
    const isKnown =
      this.#latestModels.baseUrlOf(group, target) === this.#pushedModels.baseUrlOf(group, target);
    if (!isKnown) this.#push();
  }

  close(): void {
    this.#timer?.clear();
    this.#isBehind = false;
  }

  #push(): void {
    this.#timer?.clear();
    this.#timer = this.#modules.clock.setTimer(PUSH_EVERY_MS, () => {
      this.#timer = undefined;
      if (this.#isBehind) this.#push();
    });
    this.#isBehind = false;
    this.#pushed = this.#latest;
    this.#pushedModels = this.#latestModels;
    const json = JSON.stringify(this.#latest);
    if (json === this.#pushedJson) return;
    this.#pushedJson = json;
    this.#modules.push(json);
  }
}
