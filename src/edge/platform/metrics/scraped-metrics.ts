import { Counter, Gauge, type Registry } from 'prom-client';

/** Adds to the series with these labels; one that is not there yet begins at 0. */
export type AddToSeries<Label extends string> = (
  labels: Readonly<Record<Label, string | number>>,
  value: number,
) => void;

/**
 * Metrics whose numbers are kept elsewhere and read at each scrape: counting costs nothing, and the series of what has
 * ended end with it. `read` adds all series that there are.
 */
export class ScrapedMetrics {
  readonly #registers: Registry[];

  constructor(registry: Registry) {
    this.#registers = [registry];
  }

  /** A total; `name` ends in `_total`. */
  counter<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: (add: AddToSeries<Label>) => void,
  ): void {
    const counter: Counter<Label> = new Counter({
      name,
      help,
      labelNames: [...labels],
      registers: this.#registers,
      collect() {
        counter.reset();
        read((series, value) => counter.inc(series, value));
      },
    });
  }

  /** A number that goes up and down. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: (add: AddToSeries<Label>) => void,
  ): void {
    const gauge: Gauge<Label> = new Gauge({
      name,
      help,
      labelNames: [...labels],
      registers: this.#registers,
      collect() {
        gauge.reset();
        read((series, value) => gauge.inc(series, value));
      },
    });
  }
}
