/**
 * From the engine's event on the wire to its place in the index: engines,
 * sidecars and the aggregator are three processes on this machine, with real
 * ZeroMQ and gRPC between them. How old a change is when it is in the index,
 * and how late the aggregator's event loop comes to anything.
 */
import type { EngineLoad } from './parts/event-engines.js';
import { figure, IS_QUICK, title } from './support/figures.js';
import { Part, wait } from './support/part.js';

const LOAD: EngineLoad = {
  count: IS_QUICK ? 20 : 200,
  blocksPerBatch: 4,
  tokensPerBlock: 16,
  capacityBlocks: 2_000,
};
const RATES_PER_SECOND = IS_QUICK ? [50] : [10, 50];
const WARM_UP_MS = IS_QUICK ? 1_000 : 10_000;
const MEASURED_MS = IS_QUICK ? 2_000 : 20_000;
const AIM_P99_MS = 5;

/** What the part `event-index` measures. */
interface Measured {
  readonly changes: number;
  readonly lagP50Ms: number;
  readonly lagP99Ms: number;
  readonly lagMaxMs: number;
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

const engines = new Part('event-engines');
const sidecars = new Part('event-sidecars');
const index = new Part('event-index');
const parts = { engines, sidecars, index };
try {
  const endpoints = await engines.ask<string[]>('open', LOAD);
  const { tokensPerBlock } = LOAD;
  const ports = await sidecars.ask<number[]>('start', { endpoints, tokensPerBlock });
  await index.ask('start', { ports });
  for (const perSecond of RATES_PER_SECOND) {
    await engines.ask('run', { perSecond });
    await wait(WARM_UP_MS);
    await index.ask('reset');
    const before = await Promise.all(Object.values(parts).map((part) => part.cpuMs()));
    await wait(MEASURED_MS);
    const measured = await index.ask<Measured>('measure');
    const after = await Promise.all(Object.values(parts).map((part) => part.cpuMs()));
    await engines.ask('stop');
    const perSecondAll = Math.round(measured.changes / (MEASURED_MS / 1_000));
    title(
      `event to index: ${LOAD.count} workers x ${perSecond} batches/s of ${LOAD.blocksPerBatch} blocks, ${perSecondAll} arrived a second`,
    );
    const verdict = measured.lagP99Ms <= AIM_P99_MS ? 'met' : 'MISSED';
    figure('engine to index, p50', measured.lagP50Ms, 'ms');
    figure(`engine to index, p99 (aim ${AIM_P99_MS} ms, ${verdict})`, measured.lagP99Ms, 'ms');
    figure('engine to index, longest', measured.lagMaxMs, 'ms');
    figure("the aggregator's event loop is late by, p50", measured.delayP50Ms, 'ms');
    figure('  p99', measured.delayP99Ms, 'ms');
    figure('  longest', measured.delayMaxMs, 'ms');
    for (const [at, name] of Object.keys(parts).entries()) {
      figure(`processor, ${name}`, (100 * ((after[at] ?? 0) - (before[at] ?? 0))) / MEASURED_MS, '%');
    }
  }
} finally {
  await Promise.all(Object.values(parts).map((part) => part.stop()));
}
