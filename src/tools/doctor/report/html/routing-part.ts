import { onOneLine } from '../../../../core/text/printable.js';
import { type Html, html } from '../../../../edge/http/html.js';
import type { RoutingPicture } from '../../diagnosis.js';
import { countText, durationText, shareText } from '../figures.js';
import { bars } from './plots.js';
import { table } from './table.js';

/** Workers with a bar of their own. */
const MAX_BARS = 12;

/** How routing went. */
export function routingPart(routing: RoutingPicture | undefined): Html {
  if (routing === undefined) return html``;
  const { decisions, decisionsByWorker, routerHitRate, engineHitRate, firstTokenSeconds } = routing;
  const tiles = [
    tile('decisions', countText(decisions)),
    ...told('the router expected cached', routerHitRate, shareText),
    ...told('engines really had', engineHitRate, shareText),
    ...told('first token, first turns', firstTokenSeconds.cold, durationText),
    ...told('first token, follow-ups', firstTokenSeconds.warm, durationText),
  ];
  return html`<section><h2>Routing</h2><div class="tiles">${tiles}</div>${byWorker(decisionsByWorker)}</section>`;
}

function byWorker(decisionsByWorker: RoutingPicture['decisionsByWorker']): Html {
  if (decisionsByWorker.size === 0) return html``;
  const sorted = [...decisionsByWorker]
    .map(([worker, count]): [string, number] => [worker === '' ? 'others' : onOneLine(worker), count])
    .sort(([, a], [, b]) => b - a);
  const rest = sorted.slice(MAX_BARS);
  const shown: [string, number][] =
    rest.length === 0
      ? sorted
      : [
          ...sorted.slice(0, MAX_BARS),
          [`${countText(rest.length)} more`, rest.reduce((sum, [, count]) => sum + count, 0)],
        ];
  return html`<figure><figcaption><b>Decisions per worker</b></figcaption>${bars('Decisions per worker', shown)}</figure><details><summary>The numbers</summary>${table(
    ['Worker', '#Decisions'],
    sorted.map(([worker, count]) => [worker, countText(count)]),
  )}</details>`;
}

function tile(name: string, value: string): Html {
  return html`<div class="tile"><b>${value}</b><span>${name}</span></div>`;
}

function told(name: string, value: number | undefined, text: (value: number) => string): readonly Html[] {
  return value === undefined ? [] : [tile(name, text(value))];
}
