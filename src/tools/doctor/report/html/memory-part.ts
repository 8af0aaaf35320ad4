import { onOneLine } from '../../../../core/text/printable.js';
import { type Html, html } from '../../../../edge/http/html.js';
import type { Evidence, GpuSighting } from '../../evidence.js';
import type { MemoryArithmetic } from '../../memory/memory-arithmetic.js';
import { amountText, bytesText, shareText } from '../figures.js';
import { placeText } from '../safe-text.js';
import { memorySentence } from '../sentences.js';
import { type Slice, stackedBar } from './plots.js';

/** What memory allows, as a bar and as arithmetic. */
export function memoryPart(memories: readonly MemoryArithmetic[], { gpus }: Evidence): Html {
  if (memories.length === 0) return html``;
  return html`<section><h2>Memory</h2>${memories.map((memory) => oneWorker(memory, gpus))}</section>`;
}

function oneWorker(memory: MemoryArithmetic, gpus: readonly GpuSighting[]): Html {
  const slices = slicesOf(memory, gpus);
  const name = memory.who === '' ? 'One GPU' : `One GPU of ${onOneLine(memory.who)}`;
  const figure =
    slices.length === 0
      ? ''
      : html`<figure><figcaption><b>${name}</b></figcaption>${stackedBar(name, slices)}</figure>`;
  const steps = memory.steps.map(({ says, expression, value, unit, origins }) => {
    const places = [...new Set(origins.map(placeText))].join(', ');
    return html`<dt>${onOneLine(says)}</dt><dd><code>${onOneLine(expression)} = ${amountText(value, unit)}</code>${places === '' ? '' : html` <span class="place">${places}</span>`}</dd>`;
  });
  return html`${figure}<p>${memorySentence(memory)}</p>${steps.length === 0 ? '' : html`<details><summary>The arithmetic, step by step</summary><dl class="steps">${steps}</dl></details>`}`;
}

/** The parts of a GPU's memory, as far as they are known. */
function slicesOf(memory: MemoryArithmetic, gpus: readonly GpuSighting[]): readonly Slice[] {
  const { budgetBytes, capacityTokens, demandTokens } = memory;
  if (budgetBytes === undefined || budgetBytes <= 0) return [];
  const total = totalBytesOf(memory, gpus);
  const rest = total === undefined ? 0 : Math.max(0, total - budgetBytes);
  const slices: Slice[] = [];
  if (rest > 0)
    slices.push({
      name: 'weights and everything else',
      value: rest,
      shown: bytesText(rest),
      tone: 'tone-rest',
    });
  if (capacityTokens === undefined || capacityTokens <= 0 || demandTokens === undefined) {
    slices.push({ name: 'KV blocks', value: budgetBytes, shown: bytesText(budgetBytes), tone: 'tone-free' });
    return slices;
  }
  const share = Math.max(0, demandTokens / capacityTokens);
  const running = budgetBytes * Math.min(1, share);
  slices.push({
    name: `KV blocks of running sequences (${shareText(share)} of all)`,
    value: running,
    shown: bytesText(running),
    tone: 'tone-running',
  });
  const free = budgetBytes - running;
  slices.push({
    name: 'KV blocks left for prefixes',
    value: free,
    shown: bytesText(free),
    tone: 'tone-free',
  });
  return slices;
}

/** Only where all GPUs that can be meant have the same. */
function totalBytesOf({ who }: MemoryArithmetic, gpus: readonly GpuSighting[]): number | undefined {
  const own = gpus.filter((gpu) => gpu.who === who);
  const sizes = new Set((own.length > 0 ? own : gpus).map(({ totalBytes }) => totalBytes));
  return sizes.size === 1 ? [...sizes][0] : undefined;
}
