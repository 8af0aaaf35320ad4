import { AggregatorRegistry, Registry } from 'prom-client';
import type { MetricsContentType } from '../../edge/http/metrics-page.js';

/** One metric of another process, as its registry gives it. */
export interface MetricSnapshot {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Record<string, string | number>>;
    /** Of a histogram's parts: `…_bucket`, `…_sum`, `…_count`. */
    readonly metricName?: string;
  }[];
}

/** All metrics of one process at one time, as plain data. */
export type MetricsSnapshot = readonly MetricSnapshot[];

/** Which process a metric is of, where it is of one and not summed. */
export const THREAD_LABEL = 'thread';

/** What a registry holds now. */
export async function snapshotOf(registry: Registry): Promise<MetricsSnapshot> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as MetricSnapshot[];
  return metrics.map(({ name, help, type, values }) => ({ name, help, type, values }));
}

/**
 * The sums over several processes: a series of one is that of all with the
 * same labels. `contentType` is the form in which they will be written.
 */
export function sumOf(
  snapshots: readonly MetricsSnapshot[],
  contentType: MetricsContentType = Registry.PROMETHEUS_CONTENT_TYPE,
): Registry<MetricsContentType> {
  const isOpenMetrics = contentType === Registry.OPENMETRICS_CONTENT_TYPE;
  const named = snapshots.map((snapshot) =>
    snapshot.map((metric) => ({
      ...metric,
      // The library puts it back for OpenMetrics, and takes it away from metrics of its own alone.
      name: isOpenMetrics && metric.type === 'counter' ? metric.name.replace(/_total$/, '') : metric.name,
      aggregator: 'sum',
    })),
  );
  const sum = AggregatorRegistry.aggregate<MetricsContentType>(named);
  sum.setContentType(contentType);
  return sum;
}

/** What stays of a process that is gone: its counts, without which the sums would fall. Gauges ended with it. */
export function remainsOf(snapshot: MetricsSnapshot): MetricsSnapshot {
  return snapshot
    .filter(({ type }) => type !== 'gauge')
    .map((metric) => ({ ...metric, values: metric.values.filter(({ labels }) => !(THREAD_LABEL in labels)) }))
    .filter(({ values }) => values.length > 0);
}

/** Without the series of groups that have left; those that are of no group stay. */
export function ofGroups(snapshot: MetricsSnapshot, groups: ReadonlySet<string>): MetricsSnapshot {
  return snapshot.map((metric) => ({
    ...metric,
    values: metric.values.filter(({ labels: { group = '' } }) => group === '' || groups.has(String(group))),
  }));
}

/** Two of them as one. */
export function joined(one: MetricsSnapshot, other: MetricsSnapshot): MetricsSnapshot {
  const sums = sumOf([one, other]).getMetricsAsArray() as unknown as MetricsSnapshot;
  return sums.map(({ name, help, type, values }) => ({ name, help, type, values }));
}
