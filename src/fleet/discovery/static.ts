import type { Address } from '../../edge/platform/address.js';
import type { DiscoverySource, Endpoint } from './source.js';

/** A list that never changes: what `--workers HOST:PORT,…` gives. */
export class StaticSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = true;
  readonly #endpoints: readonly Endpoint[];

  constructor(options: { readonly addresses: readonly Address[] }) {
    this.#endpoints = options.addresses.map(({ text }) => ({ target: text, address: text }));
    this.name = `list of ${this.#endpoints.length}`;
  }

  run(signal: AbortSignal, onList: (endpoints: readonly Endpoint[]) => void): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    onList(this.#endpoints);
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
