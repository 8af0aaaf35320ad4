import type { Exchange } from './exchange.js';

/**
 * The requests that are on their way, in no order. A `Set` would do, but where
 * every request comes and goes V8 makes it a new table ever so often, and each
 * old one points to the next: once one is old, all that stood in any of them
 * outlives the collections of young objects, a sixth of the processor time.
 */
export class RunningExchanges {
  readonly #exchanges: Exchange[] = [];

  get size(): number {
    return this.#exchanges.length;
  }

  add(exchange: Exchange): void {
    exchange.place = this.#exchanges.length;
    this.#exchanges.push(exchange);
  }

  /** Harmless for one that is not here. */
  delete(exchange: Exchange): void {
    const { place } = exchange;
    if (this.#exchanges[place] !== exchange) return;
    const last = this.#exchanges.pop() as Exchange;
    if (last === exchange) return;
    this.#exchanges[place] = last;
    last.place = place;
  }

  /** As they are now: what is called for them may end them. */
  snapshot(): readonly Exchange[] {
    return [...this.#exchanges];
  }
}
