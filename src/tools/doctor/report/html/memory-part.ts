import { type Html, html } from '../../../../edge/http/html.js';
import type { MemorySection } from '../document.js';
import { ofWho } from '../sentences.js';
import { stackedBar } from './plots.js';

/** What memory allows, as a bar and as arithmetic. */
export function memoryPart(memories: readonly MemorySection[]): Html {
  if (memories.length === 0) return html``;
  return html`<section><h2>Memory</h2>${memories.map(oneWorker)}</section>`;
}

function oneWorker({ who, sentence, steps, slices }: MemorySection): Html {
  const name = who === '' ? 'One GPU' : `One GPU of ${who}`;
  const figure =
    slices.length === 0
      ? ''
      : html`<figure><figcaption><b>${name}</b></figcaption>${stackedBar(name, slices)}</figure>`;
  const items = steps.map(
    ({ says, expression, result, places }) =>
      html`<dt>${says}</dt><dd><code>${expression} = ${result}</code>${places === '' ? '' : html` <span class="place">${places}</span>`}</dd>`,
  );
  return html`${figure}<p>${ofWho(who, sentence)}</p>${items.length === 0 ? '' : html`<details><summary>The arithmetic, step by step</summary><dl class="steps">${items}</dl></details>`}`;
}
