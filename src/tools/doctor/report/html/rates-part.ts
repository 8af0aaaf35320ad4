import { onOneLine } from '../../../../core/text/printable.js';
import { type Html, html } from '../../../../edge/http/html.js';
import type { Evidence } from '../../evidence.js';
import type { DecisionTally, RateSeries } from '../../logs/log-summary.js';
import { masked } from '../../logs/masking.js';
import { countOf, countText, timeOfDayText } from '../figures.js';
import { type RateRow, rateRows } from '../rate-rows.js';
import { type Buckets, barsOverTime, bucketText, lineOverTime } from './plots.js';
import { table } from './table.js';

/** Plots on the page; the JSON report has all series. */
const MAX_PLOTS = 24;

/** What the logs have over time. */
export function ratesPart({ logs }: Evidence): Html {
  const plots = [
    ...logs.flatMap(({ name, decisions }) => (decisions === undefined ? [] : [cachedPlot(name, decisions)])),
    ...rateRows(logs)
      .filter(({ what }) => what !== CACHED)
      .map(ratePlot),
  ].filter((plot) => plot !== undefined);
  if (plots.length === 0) return html``;
  const more = plots.length - MAX_PLOTS;
  return html`<section><h2>Over time</h2><div class="grid">${plots.slice(0, MAX_PLOTS)}</div>${more > 0 ? html`<p class="faint">and ${countOf(more, 'more plot')}; the JSON report has all numbers</p>` : ''}</section>`;
}

/** As `rateRows` names what is shown here by decision. */
const CACHED = 'cached blocks of decisions';

/** Buckets in which nothing was decided tell nothing. */
function cachedPlot(log: string, { told, cachedRate, rate }: DecisionTally): Html | undefined {
  if (told === 0 || cachedRate.counts.length === 0) return undefined;
  const buckets = bucketsOf(
    cachedRate,
    cachedRate.counts.map((cached, index) => {
      const decided = rate.counts[index] ?? 0;
      return decided > 0 ? cached / decided : Number.NaN;
    }),
  );
  const title = 'Cached blocks per decision';
  return figure(
    title,
    onOneLine(masked(log)),
    `${countOf(told, 'decision')}`,
    buckets,
    lineOverTime(title, buckets, 'tone-cached'),
  );
}

function ratePlot({ log, what, total, series }: RateRow): Html {
  const buckets = bucketsOf(series, series.counts);
  const title = `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`;
  const tone = what === 'decisions' ? 'tone-decisions' : 'tone-sign';
  return figure(title, log, `${countText(total)} in all`, buckets, barsOverTime(title, buckets, tone));
}

function bucketsOf({ startMs, bucketMs }: RateSeries, values: readonly number[]): Buckets {
  return { startMs, bucketMs, values };
}

function figure(title: string, log: string, total: string, buckets: Buckets, plot: Html): Html {
  const { startMs, bucketMs, values } = buckets;
  const rows = values.flatMap((value, index) => {
    if (!(value > 0)) return [];
    const at = startMs === undefined ? `step ${index + 1}` : timeOfDayText(startMs + index * bucketMs);
    return [[at, Number.isInteger(value) ? countText(value) : value.toFixed(2)]];
  });
  const numbers =
    rows.length === 0
      ? html`<small class="faint">0 everywhere</small>`
      : html`<details><summary>The numbers, in steps of ${bucketText(buckets)}</summary>${table(['From', `#${title}`], rows)}</details>`;
  return html`<figure><figcaption><b>${title}</b>, ${total} <span class="place">${log}</span></figcaption>${plot}${numbers}</figure>`;
}
