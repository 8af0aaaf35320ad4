import type { Address } from '../../edge/platform/address.js';
import { untilAborted } from '../../edge/platform/time/on-abort.js';
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

  async run(signal: AbortSignal, onList: (endpoints: readonly Endpoint[]) => void): Promise<void> {
    if (signal.aborted) return;
    onList(this.#endpoints);
    await untilAborted(signal);
  }
}
