import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { DiscoverySource, Endpoint } from '../../fleet/discovery/source.js';

/** A discovery source whose list the demo writes by itself, as a platform would. */
export class StageSource implements DiscoverySource {
  readonly name = 'the demo';
  /** Workers come and go, so agreement waits for the list to settle. */
  readonly isStatic = false;
  #endpoints: readonly Endpoint[] = [];
  #onList: ((endpoints: readonly Endpoint[]) => void) | undefined;

  /** Gives the full list again. */
  list(endpoints: readonly Endpoint[]): void {
    this.#endpoints = endpoints;
    this.#onList?.(endpoints);
  }

  run(signal: AbortSignal, onList: (endpoints: readonly Endpoint[]) => void): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#onList = undefined;
        resolve();
      };
      if (signal.aborted) return end();
      onAbort(signal, end);
      this.#onList = onList;
      onList(this.#endpoints);
    });
  }
}
