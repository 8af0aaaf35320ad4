import { capitalised } from '../../../../core/text/capitalised.js';
import { type Html, html } from '../../../../edge/http/html.js';
import { countOf, countText, timeOfDayText } from '../figures.js';
import type { RateRow } from '../rate-rows.js';
import { tableOf } from '../table.js';
import { type Buckets, barsOverTime, bucketText, lineOverTime } from './plots.js';
import { table } from './table.js';

/** Plots on the page; the JSON report has all series. */
const MAX_PLOTS = 24;

/** What the logs have over time: cached blocks first, then the rest log by log. */
export function ratesPart(rates: readonly RateRow[]): Html {
  const ordered = [
    ...rates.filter(({ perDecision }) => perDecision !== undefined),
    ...rates.filter(({ perDecision }) => perDecision === undefined),
  ];
  if (ordered.length === 0) return html``;
  const more = ordered.length - MAX_PLOTS;
  return html`<section><h2>Over time</h2><div class="grid">${ordered.slice(0, MAX_PLOTS).map(ratePlot)}</div>${more > 0 ? html`<p class="faint">and ${countOf(more, 'more plot')}; the JSON report has all numbers</p>` : ''}</section>`;
}

function ratePlot({ log, what, total, series, perDecision }: RateRow): Html {
  const { startMs, bucketMs, counts } = series;
  if (perDecision !== undefined) {
    const title = 'Cached blocks per decision';
    const buckets = { startMs, bucketMs, values: perDecision.values };
    const plot = lineOverTime(title, buckets, 'tone-cached');
    return figure(title, log, countOf(perDecision.count, 'decision'), buckets, plot);
  }
  const title = capitalised(what);
  const buckets = { startMs, bucketMs, values: counts };
  const tone = what === 'decisions' ? 'tone-decisions' : 'tone-sign';
  return figure(title, log, `${countText(total)} in all`, buckets, barsOverTime(title, buckets, tone));
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
      : html`<details><summary>The numbers, in steps of ${bucketText(buckets)}</summary>${table(tableOf(['From', `#${title}`], rows))}</details>`;
  return html`<figure><figcaption><b>${title}</b>, ${total} <span class="place">${log}</span></figcaption>${plot}${numbers}</figure>`;
}
