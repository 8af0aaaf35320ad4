import type { WantedSamples } from '../../../engines/descriptor/engine-pages.js';
import type { MetricSample } from '../../../engines/facts/prometheus-text.js';

/** What `/metrics` of one process had, as far as the doctor uses it. */
export interface MetricsPage {
  /** The URL or the file. */
  readonly name: string;
  /** Whose page it is, by the families on it: `dynamo-frontend`, `vllm`, `kv-accord`, `dcgm`, …; `unknown` for none that is known. */
  readonly program: string;
  /** By exact metric name; see `known-pages.ts` for those that are kept. */
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

/** The same of what an engine's descriptor asks for; undefined also where it asks for nothing. */
export function sumOfWanted(page: MetricsPage, wanted: WantedSamples | undefined): number | undefined {
  return wanted === undefined ? undefined : sumOf(page, wanted.metric, wanted.labels);
}

/** `sglang:realtime_tokens_total{mode="prefill_cache"}`. */
export function wantedText({ metric, labels = {} }: WantedSamples): string {
  const shown = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return shown.length === 0 ? metric : `${metric}{${shown.join(',')}}`;
}
