import { type Html, html } from '../../../../edge/http/html.js';
import type { RoutingSection } from '../document.js';
import { countText } from '../figures.js';
import { tableOf } from '../table.js';
import { bars } from './plots.js';
import { table } from './table.js';

/** Workers with a bar of their own. */
const MAX_BARS = 12;

/** How routing went. */
export function routingPart(routing: RoutingSection | undefined): Html {
  if (routing === undefined) return html``;
  const tiles = routing.figures.map(
    ({ name, value }) => html`<div class="tile"><b>${value}</b><span>${name}</span></div>`,
  );
  return html`<section><h2>Routing</h2><div class="tiles">${tiles}</div>${byWorker(routing)}</section>`;
}

function byWorker({ byWorker: workers }: RoutingSection): Html {
  if (workers.length === 0) return html``;
  const sorted = workers
    .map(({ worker, count }): [string, number] => [worker, count])
    .sort(([, a], [, b]) => b - a);
  const rest = sorted.slice(MAX_BARS);
  const restCount = rest.reduce((sum, [, count]) => sum + count, 0);
  const shown: readonly [string, number][] = [
    ...sorted.slice(0, MAX_BARS),
    ...(rest.length === 0 ? [] : [[`${countText(rest.length)} more`, restCount] as [string, number]]),
  ];
  const numbers = tableOf(
    ['Worker', '#Decisions'],
    sorted.map(([worker, count]) => [worker, countText(count)]),
  );
  return html`<figure><figcaption><b>Decisions per worker</b></figcaption>${bars('Decisions per worker', shown)}</figure><details><summary>The numbers</summary>${table(numbers)}</details>`;
}
