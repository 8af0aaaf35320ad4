import { afterEach, expect, it } from 'vitest';
import { systemClock, type Timer } from '../../../../src/edge/platform/clock.js';
import { KvPublisher } from '../../../../src/tools/demo/engines/kv-publisher.js';
import { replay } from '../../../../src/worker/kv-events/readers/replay-client.js';
import { readSequence } from '../../../../src/worker/kv-events/readers/sequence-watch.js';
import { loadZmqSockets, type Sockets } from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const things = new OpenThings();
afterEach(() => things.close());

const loadSockets = (): Promise<Sockets> => loadZmqSockets({}, { logger: new RecordingLogger() });

async function open(): Promise<KvPublisher> {
  const publisher = await KvPublisher.open();
  things.add(() => publisher.close());
  return publisher;
}

/** What a sidecar is given when it asks again for all batches from `start` on. */
async function replayed(publisher: KvPublisher, start: number): Promise<string[]> {
  const { signal } = new AbortController();
  const modules = { clock: systemClock, sockets: await loadSockets() };
  const batches: string[] = [];
  const endpoint = `tcp://127.0.0.1:${publisher.ports.replay}`;
  for await (const { sequence, payload } of replay(endpoint, start, {}, modules, signal)) {
    batches.push(`${sequence} ${Buffer.from(payload)}`);
  }
  return batches;
}

/** Publishes `batch 0`, `batch 1` and so on. */
function publishUntilStopped(publisher: KvPublisher): () => void {
  let timer: Timer | undefined;
  let count = 0;
  const next = (): void => {
    publisher.publish(Buffer.from(`batch ${count}`));
    count += 1;
    timer = systemClock.setTimer(1, next);
  };
  next();
  const stop = (): void => timer?.clear();
  things.add(stop);
  return stop;
}

it('sends each batch with its number to every subscriber', async () => {
  const publisher = await open();
  const source = { rank: 0, endpoint: `tcp://127.0.0.1:${publisher.ports.live}`, topic: 'kv-' };
  const subscription = await (await loadSockets()).subscribe({ kind: 'zmq', ...source }, () => {});
  things.add(() => subscription.close());
  // A publisher learns of a subscription when it learns of it: what it sends before is for nobody.
  const stop = publishUntilStopped(publisher);
  const first = await subscription.receive();
  const second = await subscription.receive();
  stop();
  const numbers = [first, second].map((frames) => readSequence(frames?.[1] as Uint8Array) as number);
  expect(numbers[1]).toBe((numbers[0] ?? 0) + 1);
  for (const [index, frames] of [first, second].entries()) {
    expect([String(frames?.[0]), String(frames?.[2])]).toEqual(['kv-events', `batch ${numbers[index]}`]);
  }
});

it('gives old batches again, and those of another engine start never', async () => {
  const publisher = await open();
  expect(await replayed(publisher, 0)).toEqual([]);
  for (const text of ['a', 'b', 'c']) publisher.publish(Buffer.from(text));
  expect(await replayed(publisher, 0)).toEqual(['0 a', '1 b', '2 c']);
  expect(await replayed(publisher, 2)).toEqual(['2 c']);
  expect(await replayed(publisher, 7)).toEqual([]);
  publisher.restart();
  publisher.publish(Buffer.from('d'));
  expect(await replayed(publisher, 0)).toEqual(['0 d']);
});

it('keeps as many as the engines do', async () => {
  const publisher = await open();
  for (let sequence = 0; sequence < 10_003; sequence += 1) publisher.publish(Buffer.from('x'));
  const batches = await replayed(publisher, 0);
  expect([batches[0], batches.at(-1), batches.length]).toEqual(['3 x', '10002 x', 10_000]);
});
