import type { MetricSample } from '../../../engines/facts/prometheus-text.js';

/** What `/metrics` of one process had, as far as the doctor uses it. */
export interface MetricsPage {
  /** The URL or the file. */
  readonly name: string;
  /** Whose page it is, by the families on it. */
  readonly program:
    | 'dynamo-frontend'
    | 'dynamo-worker'
    | 'dynamo-indexer'
    | 'vllm'
    | 'sglang'
    | 'trtllm'
    | 'kv-accord'
    | 'dcgm'
    | 'unknown';
  /** By exact metric name; see `wanted-metrics.ts` for those that are kept. */
  readonly samples: ReadonlyMap<string, readonly MetricSample[]>;
}

/** Sum of a metric over the samples whose labels are as asked; undefined when there is none. */
export function sumOf(
  page: MetricsPage,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels);
  const values = (page.samples.get(name) ?? [])
    .filter((sample) => wanted.every(([label, value]) => sample.labels.get(label) === value))
    .map(({ valueText }) => Number(valueText))
    .filter(Number.isFinite);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}
