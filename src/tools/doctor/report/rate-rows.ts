import { onOneLine } from '../../../core/text/printable.js';
import type { LogSummary, RateSeries } from '../logs/log-summary.js';
import { masked } from '../logs/masking.js';
import { dateText, timeOfDayText } from './figures.js';
import { SIGNAL_LABELS } from './labels.js';

/** One thing in one log, over time. */
export interface RateRow {
  readonly log: string;
  /** `parent block not found`, `decisions`, `cached blocks of decisions`. */
  readonly what: string;
  readonly total: number;
  readonly series: RateSeries;
  /** Of cached blocks alone: how many decisions reported them, and the mean of each bucket, NaN where nothing was decided. */
  readonly perDecision: { readonly count: number; readonly values: readonly number[] } | undefined;
  /** `2026-02-16 14:38:53 UTC to 14:59:01`; empty when lines have no time. */
  readonly span: string;
}

/** What the logs have over time, log by log. */
export function rateRows(logs: readonly LogSummary[]): readonly RateRow[] {
  return logs.flatMap((log) => {
    const name = onOneLine(masked(log.name));
    const span = spanOf(log);
    const row = (
      what: string,
      total: number,
      series: RateSeries,
      perDecision?: RateRow['perDecision'],
    ): RateRow => ({ log: name, what, total, series, perDecision, span });
    const { decisions } = log;
    return [
      ...[...log.signals].map(([signal, { count, rate }]) => row(SIGNAL_LABELS[signal], count, rate)),
      ...(decisions === undefined ? [] : [row('decisions', decisions.count, decisions.rate)]),
      ...(decisions === undefined || decisions.reporting === 0
        ? []
        : [
            row('cached blocks of decisions', decisions.cachedBlocks, decisions.cachedRate, {
              count: decisions.reporting,
              values: decisions.cachedRate.counts.map(
                (cached, index) => cached / (decisions.rate.counts[index] || Number.NaN),
              ),
            }),
          ]),
    ].filter(({ series }) => series.counts.length > 0);
  });
}

function spanOf({ firstMs, lastMs }: LogSummary): string {
  if (firstMs === undefined || lastMs === undefined) return '';
  const isOneDay = dateText(firstMs).slice(0, 10) === dateText(lastMs).slice(0, 10);
  return `${dateText(firstMs)} to ${isOneDay ? timeOfDayText(lastMs) : dateText(lastMs)}`;
}
