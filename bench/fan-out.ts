/**
 * One change of a worker (its engine is restarted), seen by 1,000 frontends
 * that watch the agreement, against a plain grpc-js server that writes the same message to as many
 * streams: from the report of the change until the last frontend knows.
 */
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { Part, wait } from './support/part.js';

const FRONTENDS = IS_QUICK ? 200 : 1_000;
/** Each side is started so often, in turns, so that what else the machine does meets both. */
const ROUNDS = IS_QUICK ? 1 : 3;
/** Changes that are measured in a round, after some that warm the code up. */
const CHANGES = IS_QUICK ? 10 : 30;
const WARM_UP = 20;
/** A worker may send 20 messages a second before it has to wait. */
const PACE_MS = 60;
const AIM = 1.2;

interface Measured {
  readonly lastMs: number;
  readonly cpuMs: number;
  readonly bytesPerFrontend: number;
  /** The message that frontends got. */
  readonly sample: string;
}

async function measure(start: (port: number) => Promise<{ part: Part; address: string }>): Promise<Measured> {
  const sidecar = new Part('sidecars');
  const frontends = new Part('frontends');
  const port = await sidecar.ask<number>('listen', { count: 1, holdsLast: false });
  const { part, address } = await start(port);
  try {
    const beforeBytes = await part.memoryBytes();
    await frontends.ask('start', { address, count: FRONTENDS, instance: 'worker-0-1' });
    await wait(500);
    const bytes = (await part.memoryBytes()) - beforeBytes;
    const lastMs: number[] = [];
    let beforeCpuMs = 0;
    for (let change = 0; change < WARM_UP + CHANGES; change += 1) {
      if (change === WARM_UP) beforeCpuMs = await part.cpuMs();
      await wait(PACE_MS);
      const start = change + 2;
      await frontends.ask('arm', { instance: `worker-0-${start}` });
      const changedMs = await sidecar.ask<number>('restart', { start });
      const seenMs = await frontends.ask<number>('seen');
      if (change >= WARM_UP) lastMs.push(seenMs - changedMs);
    }
    const cpuMs = ((await part.cpuMs()) - beforeCpuMs) / CHANGES;
    const sample = await frontends.ask<string>('sample');
    return { lastMs: median(lastMs), cpuMs, bytesPerFrontend: bytes / FRONTENDS, sample };
  } finally {
    await Promise.all([sidecar.stop(), frontends.stop(), part.stop()]);
  }
}

const ours: Measured[] = [];
const bare: Measured[] = [];
let sample = '';
for (let round = 0; round < ROUNDS; round += 1) {
  const measured = await measure(async (port) => {
    const part = new Part('aggregator');
    const address = await part.ask<string>('start', { ports: [port], count: 1 });
    await part.ask('opened');
    return { part, address };
  });
  ours.push(measured);
  sample = measured.sample;
  const plain = await measure(async (port) => {
    const part = new Part('bare-fan-out');
    return { part, address: await part.ask<string>('start', { port, sample }) };
  });
  bare.push(plain);
}

const of = (runs: readonly Measured[], name: Exclude<keyof Measured, 'sample'>): number =>
  median(runs.map((run) => run[name]));
const compare = (what: string, name: Exclude<keyof Measured, 'sample'>, unit: string, scale = 1): void =>
  ratio(what, of(ours, name) / scale, of(bare, name) / scale, unit, AIM);
title(
  `fan-out: one change, ${FRONTENDS.toLocaleString('en-US')} frontends; floor: as many plain grpc-js streams`,
);
compare('from the report until the last one knows', 'lastMs', 'ms');
compare('processor time for each change', 'cpuMs', 'ms');
compare('memory for each frontend', 'bytesPerFrontend', 'KiB', 1_024);
figure('size of the message', Buffer.from(sample, 'base64').length, 'bytes');
