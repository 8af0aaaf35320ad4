import type { Clock, Timer } from '../../../edge/platform/clock.js';

/** Between two sums: an engine of another width has hundreds of such events a second. */
const SUM_INTERVAL_MS = 1_000;

interface Mismatched {
  readonly target: string;
  readonly instanceId: string;
  tokensPerBlock: number;
  /** Not reported yet. */
  count: number;
}

export interface MismatchReporterModules {
  readonly clock: Clock;
  /** `reportFirst` has something to report. */
  onFirst(): void;
  report(target: string, instanceId: string, tokensPerBlock: number, count: number): void;
}

/**
 * V3: reports the first event of another width of an instance immediately, of the
 * rest in sums. Never out of `add`: what the agreement does about it may change
 * what is being applied.
 */
export class MismatchReporter {
  readonly #modules: MismatchReporterModules;
  readonly #workers = new Map<string, Mismatched>();
  /** First of their instance. */
  readonly #first: Mismatched[] = [];
  #timer: Timer | undefined;

  constructor(modules: MismatchReporterModules) {
    this.#modules = modules;
  }

  /** One more store event of this width was not applied. */
  add(target: string, instanceId: string, tokensPerBlock: number): void {
    const known = this.#workers.get(target);
    if (known?.instanceId === instanceId) {
      known.tokensPerBlock = tokensPerBlock;
      known.count += 1;
      this.#timer ??= this.#modules.clock.setTimer(SUM_INTERVAL_MS, () => this.#reportSums());
      return;
    }
    const first = { target, instanceId, tokensPerBlock, count: 1 };
    this.#workers.set(target, first);
    this.#first.push(first);
    this.#modules.onFirst();
  }

  /** Reports one that was the first of its instance; false when there is none. */
  reportFirst(): boolean {
    const first = this.#first.shift();
    if (first === undefined) return false;
    this.#report(first);
    return true;
  }

  /** A worker is not followed any more; what is not reported of it is dropped. */
  delete(target: string): void {
    this.#workers.delete(target);
  }

  /** Stops. */
  close(): void {
    this.#workers.clear();
    this.#first.length = 0;
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #reportSums(): void {
    this.#timer = undefined;
    for (const known of [...this.#workers.values()]) this.#report(known);
  }

  #report(known: Mismatched): void {
    const { target, count, instanceId, tokensPerBlock } = known;
    known.count = 0;
    if (count > 0) this.#modules.report(target, instanceId, tokensPerBlock, count);
  }
}
