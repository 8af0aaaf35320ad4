/**
 * How old a change is when it is in the index, and how late the aggregator's
 * event loop runs anything. Twice: the whole way, with engines, sidecars
 * and the aggregator as three processes on this machine and real ZeroMQ and
 * gRPC between them; and from the sidecars' wire on, at rates for which two
 * hundred sidecars would need more cores than this machine has.
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
const WHOLE_WAY_PER_SECOND = IS_QUICK ? [50] : [5, 10, 20];
const WIRE_PER_SECOND = IS_QUICK ? [50] : [10, 25, 50];
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

/** Runs `source` at each rate and prints what `index` makes of it. */
async function measure(
  from: string,
  rates: readonly number[],
  source: Part,
  parts: Readonly<Record<string, Part>> & { readonly aggregator: Part },
): Promise<void> {
  const { aggregator } = parts;
  for (const perSecond of rates) {
    await source.ask('run', { perSecond });
    await wait(WARM_UP_MS);
    await aggregator.ask('reset');
    const before = await Promise.all(Object.values(parts).map((part) => part.cpuMs()));
    await wait(MEASURED_MS);
    const measured = await aggregator.ask<Measured>('measure');
    const after = await Promise.all(Object.values(parts).map((part) => part.cpuMs()));
    await source.ask('stop');
    const arrived = Math.round(measured.changes / (MEASURED_MS / 1_000));
    const { count, blocksPerBatch } = LOAD;
    title(
      `${from} to index: ${count} workers x ${perSecond} batches/s of ${blocksPerBatch} blocks, ${arrived} a second arrived`,
    );
    const verdict = measured.lagP99Ms <= AIM_P99_MS ? 'met' : 'MISSED';
    figure('age of a change, p50', measured.lagP50Ms, 'ms');
    figure(`  p99 (aim ${AIM_P99_MS} ms, ${verdict})`, measured.lagP99Ms, 'ms');
    figure('  longest', measured.lagMaxMs, 'ms');
    figure("the aggregator's event loop is late by, p50", measured.delayP50Ms, 'ms');
    figure('  p99', measured.delayP99Ms, 'ms');
    figure('  longest', measured.delayMaxMs, 'ms');
    for (const [at, name] of Object.keys(parts).entries()) {
      figure(`processor, ${name}`, (100 * ((after[at] ?? 0) - (before[at] ?? 0))) / MEASURED_MS, '%');
    }
  }
}

async function wholeWay(): Promise<void> {
  const engines = new Part('event-engines');
  const sidecars = new Part('event-sidecars');
  const aggregator = new Part('event-index');
  try {
    const endpoints = await engines.ask<string[]>('open', LOAD);
    const { tokensPerBlock } = LOAD;
    const ports = await sidecars.ask<number[]>('start', { endpoints, tokensPerBlock });
    await aggregator.ask('start', { ports });
    await measure('engine', WHOLE_WAY_PER_SECOND, engines, { engines, sidecars, aggregator });
  } finally {
    await Promise.all([engines, sidecars, aggregator].map((part) => part.stop()));
  }
}

async function fromTheWire(): Promise<void> {
  const streams = new Part('event-streams');
  const aggregator = new Part('event-index');
  try {
    const ports = await streams.ask<number[]>('start', LOAD);
    await aggregator.ask('start', { ports });
    await measure('wire', WIRE_PER_SECOND, streams, { streams, aggregator });
  } finally {
    await Promise.all([streams, aggregator].map((part) => part.stop()));
  }
}

await wholeWay();
await fromTheWire();
