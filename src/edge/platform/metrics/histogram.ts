import type { Metric, Registry } from 'prom-client';

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds of the buckets, ascending. */
  readonly buckets: readonly number[];
  /** The one label that it has. Absent: none, and one series from the start. */
  readonly label?: string;
  /** Called before it is read. */
  readonly collect?: () => void;
}

/** What was observed in one series. */
interface Series {
  /** By bucket alone, not those below added; what is above all bounds stands in `count` alone. */
  readonly counts: Float64Array;
  sum: number;
  count: number;
}

/** The label value of the one series of a histogram without a label. */
const ONLY = '';

/**
 * A histogram for what happens with every request. prom-client's own makes
 * texts of labels and bounds for each value, and looks up by them: a hundred
 * times what is done here. It is read like any other metric of a registry.
 */
export class LeanHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #options: HistogramOptions;
  readonly #series = new Map<string, Series>();

  constructor(registry: Registry, options: HistogramOptions) {
    this.name = options.name;
    this.help = options.help;
    this.#options = options;
    if (options.label === undefined) this.#add(ONLY);
    // Its type lists the library's own classes; `get` is all that is asked of them.
    registry.registerMetric(this as unknown as Metric);
  }

  /** Takes a value, in the series of a value of its label. */
  observe(value: number, label: string = ONLY): void {
    const series = this.#series.get(label) ?? this.#add(label);
    const { buckets } = this.#options;
    series.sum += value;
    series.count += 1;
    for (let at = 0; at < buckets.length; at += 1) {
      if (value > (buckets[at] as number)) continue;
      series.counts[at] = (series.counts[at] as number) + 1;
      return;
    }
  }

  /** Ends the series of a value of its label. */
  remove(label: string): void {
    this.#series.delete(label);
  }

  /** As a registry asks it, in the shape of prom-client's metrics. */
  async get(): Promise<unknown> {
    const { name, help, type, aggregator } = this;
    this.#options.collect?.();
    const values = [...this.#series].flatMap(([label, series]) => this.#valuesOf(label, series));
    return { name, help, type, aggregator, values };
  }

  #valuesOf(label: string, { counts, sum, count }: Series): unknown[] {
    const { label: labelName, buckets } = this.#options;
    const labels = labelName === undefined ? {} : { [labelName]: label };
    let below = 0;
    const upTo = buckets.map((le, at) => {
      below += counts[at] as number;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: below };
    });
    return [
      ...upTo,
      { metricName: `${this.name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }

  #add(label: string): Series {
    const series = { counts: new Float64Array(this.#options.buckets.length), sum: 0, count: 0 };
    this.#series.set(label, series);
    return series;
  }
}
