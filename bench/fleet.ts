/**
 * An aggregator with 1,000 and 4,000 sidecars, against plain grpc-js watch
 * streams with the same traffic: how long until all have reported, from the
 * last report to the open gate, memory for each worker, processor when idle.
 */
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { Part, sharedNowMs, wait } from './support/part.js';

const FLEETS = IS_QUICK ? [200] : [1_000, 4_000];
/** Each side is started so often, in turns; connecting is what other work on the machine disturbs most. */
const ROUNDS = IS_QUICK ? 1 : 3;
/**
 * Idle is looked at in short windows, of which the middle one counts: V8 uses
 * idle time for one full collection, a second of work that lands anywhere.
 */
const IDLE_WINDOWS = IS_QUICK ? 3 : 8;
const IDLE_WINDOW_MS = IS_QUICK ? 1_000 : 2_500;
/** Until V8 has compiled what idling uses; both sides have that once, the aggregator more of it. */
const IDLE_WARM_UP_MS = IS_QUICK ? 0 : 20_000;
/** Connecting has ended, and what it used is given back. */
const CALM_MS = 1_500;
const AIM = 1.2;

const SIDES = ['bare-watchers', 'aggregator'] as const;

interface Figures {
  readonly connectMs: number;
  readonly connectCpuMs: number;
  readonly openMs: number;
  readonly bytesPerWorker: number;
  /** Measured in the last round alone; not a number in the others. */
  readonly idlePercent: number;
}

async function measure(side: (typeof SIDES)[number], count: number, idleWindows: number): Promise<Figures> {
  const sidecars = new Part('sidecars');
  const part = new Part(side);
  try {
    const port = await sidecars.ask<number>('listen', { count, holdsLast: true });
    const beforeBytes = await part.memoryBytes();
    const beforeCpuMs = await part.cpuMs();
    const startMs = sharedNowMs();
    await part.ask('start', { ports: [port], count });
    const reportedMs = await part.ask<number>('reported');
    const connectCpuMs = (await part.cpuMs()) - beforeCpuMs;
    await wait(CALM_MS);
    const releasedMs = await sidecars.ask<number>('release');
    const openedMs = await part.ask<number>('opened');
    await wait(CALM_MS);
    const bytes = (await part.memoryBytes()) - beforeBytes;
    if (idleWindows > 0) await wait(IDLE_WARM_UP_MS);
    const idle: number[] = [];
    for (let window = 0; window < idleWindows; window += 1) {
      const calmCpuMs = await part.cpuMs();
      await wait(IDLE_WINDOW_MS);
      idle.push((100 * ((await part.cpuMs()) - calmCpuMs)) / IDLE_WINDOW_MS);
    }
    return {
      connectMs: reportedMs - startMs,
      connectCpuMs,
      openMs: openedMs - releasedMs,
      bytesPerWorker: bytes / count,
      idlePercent: median(idle),
    };
  } finally {
    await Promise.all([sidecars.stop(), part.stop()]);
  }
}

for (const count of FLEETS) {
  const runs: Record<(typeof SIDES)[number], Figures[]> = { 'bare-watchers': [], aggregator: [] };
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const side of SIDES)
      runs[side].push(await measure(side, count, round === ROUNDS ? IDLE_WINDOWS : 0));
  }
  const of = (side: (typeof SIDES)[number], name: keyof Figures): number =>
    median(runs[side].map((figures) => figures[name]).filter((value) => !Number.isNaN(value)));
  const compare = (what: string, name: keyof Figures, unit: string, scale = 1): void =>
    ratio(what, of('aggregator', name) / scale, of('bare-watchers', name) / scale, unit, AIM);
  title(`fleet: ${count.toLocaleString('en-US')} sidecars; floor: as many plain grpc-js watch streams`);
  compare('from the start until all have reported', 'connectMs', 'ms');
  compare('processor time for that', 'connectCpuMs', 'ms');
  compare('memory for each worker', 'bytesPerWorker', 'KiB', 1_024);
  compare(`processor when idle, over ${(IDLE_WINDOWS * IDLE_WINDOW_MS) / 1_000} s`, 'idlePercent', '%');
  figure('from the last report to the open gate', of('aggregator', 'openMs'), 'ms');
  figure('  of which until a plain stream has it', of('bare-watchers', 'openMs'), 'ms');
}
