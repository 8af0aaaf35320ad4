/**
 * Ten minutes of churn: engines that store and evict all the time, some of
 * which clear their caches, and the memory of sidecars and aggregator beside
 * it. Flat means: the second half needs no more than the first.
 */
import type { EngineLoad } from './parts/event-engines.js';
import { figure, IS_QUICK, median, title } from './support/figures.js';
import { Part, wait } from './support/part.js';

const LOAD: EngineLoad = {
  count: IS_QUICK ? 5 : 40,
  blocksPerBatch: 16,
  tokensPerBlock: 16,
  capacityBlocks: IS_QUICK ? 500 : 20_000,
};
const PER_SECOND = 20;
const SOAK_MS = IS_QUICK ? 4_000 : 600_000;
const SAMPLES = IS_QUICK ? 4 : 40;
/** Engines that clear their cache between two samples, one after the other. */
const CLEARS_PER_SAMPLE = 2;
const AIM = 1.05;

/** What the part `event-index` says that it holds. */
interface Held {
  readonly blocks: number;
  readonly memoryBytes: number;
}

const MIB = 1_024 * 1_024;
const engines = new Part('event-engines');
const sidecars = new Part('event-sidecars');
const index = new Part('event-index');
try {
  const endpoints = await engines.ask<string[]>('open', LOAD);
  const { tokensPerBlock } = LOAD;
  const ports = await sidecars.ask<number[]>('start', { endpoints, tokensPerBlock });
  await index.ask('start', { ports });
  await engines.ask('run', { perSecond: PER_SECOND });
  const samples: { readonly sidecarsMib: number; readonly indexMib: number; readonly held: Held }[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await wait(SOAK_MS / SAMPLES);
    for (let turn = 0; turn < CLEARS_PER_SAMPLE; turn += 1) {
      await engines.ask('clear', { number: (sample * CLEARS_PER_SAMPLE + turn) % LOAD.count });
    }
    samples.push({
      sidecarsMib: (await sidecars.memoryBytes()) / MIB,
      indexMib: (await index.memoryBytes()) / MIB,
      held: await index.ask<Held>('held'),
    });
  }
  await engines.ask('stop');
  await wait(2_000);
  const truth = await engines.ask<{ blocks: number }[]>('state');
  const held = await index.ask<Held>('held');

  title(
    `soak: ${LOAD.count} workers x ${PER_SECOND} batches/s of ${LOAD.blocksPerBatch} blocks for ${SOAK_MS / 1_000} s`,
  );
  // The first quarter fills caches and compiles.
  const steady = samples.slice(SAMPLES / 4);
  const halves = [steady.slice(0, steady.length / 2), steady.slice(steady.length / 2)] as const;
  for (const name of ['sidecarsMib', 'indexMib'] as const) {
    const [before, after] = halves.map((half) => median(half.map((one) => one[name])));
    const times = (after ?? Number.NaN) / (before ?? Number.NaN);
    const verdict = times <= AIM ? 'flat' : 'GROWS';
    const who = name === 'indexMib' ? 'aggregator' : 'sidecars';
    figure(`memory of ${who}, first half`, before ?? Number.NaN, 'MiB');
    figure(`  second half (${times.toFixed(3)}x, ${verdict})`, after ?? Number.NaN, 'MiB');
  }
  figure('memory of the index alone at the end', held.memoryBytes / MIB, 'MiB');
  figure(
    'blocks that the engines hold at the end',
    truth.reduce((sum, { blocks }) => sum + blocks, 0),
    'blocks',
  );
  figure('blocks in the index at the end', held.blocks, 'blocks');
} finally {
  await Promise.all([engines, sidecars, index].map((part) => part.stop()));
}
