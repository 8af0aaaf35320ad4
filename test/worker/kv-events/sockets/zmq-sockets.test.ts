import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { loadZmqSockets, type Sockets } from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { batchOf, FakePublisher } from '../support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

function load(logger: RecordingLogger = new RecordingLogger()): Promise<Sockets> {
  return loadZmqSockets({ maxMessageBytes: 64 * 1024 }, { logger });
}

/** A server that says `greeting` to each client that connects. */
async function server(greeting: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const made = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    greeting(socket);
  });
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  open.add(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => made.close(resolve));
  });
  const address = made.address();
  return `tcp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

/** ZMTP 3.0, NULL mechanism, then READY of a PUB, as any publisher says it. */
const GREETING = Buffer.concat([
  Buffer.from('ff00000000000000017f0300', 'hex'),
  Buffer.from('NULL'.padEnd(20, '\0'), 'latin1'),
  Buffer.alloc(32),
]);
const READY = Buffer.from('0419055245414459' + '0b536f636b65742d54797065' + '00000003505542', 'hex');

describe('ZeroMQ sockets', () => {
  it('tell when a publisher is reached and when it is gone', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    const links: boolean[] = [];
    const subscription = await (await load()).subscribe(engine.source, (isUp) => links.push(isUp));
    open.add(() => subscription.close());
    await vi.waitFor(() => expect(links).toEqual([true]));
    engine.stop();
    await vi.waitFor(() => expect(links).toEqual([true, false]));
  });

  it('subscribe to the topic of the source alone', async () => {
    const engine = await FakePublisher.start({ topic: 'other' });
    open.add(() => engine.stop());
    const subscription = await (await load()).subscribe({ ...engine.source, topic: 'kv-events' }, () => {});
    open.add(() => subscription.close());
    const next = subscription.receive();
    await vi.waitFor(async () => {
      await engine.publish(batchOf());
      await engine.send(['kv-events', 'mine', '']);
      const frames = await Promise.race([next, Promise.resolve(undefined)]);
      expect(frames?.map((frame) => Buffer.from(frame).toString())).toEqual(['kv-events', 'mine', '']);
    });
  });

  it('end a receive when they are closed', async () => {
    const engine = await FakePublisher.start();
    open.add(() => engine.stop());
    const subscription = await (await load()).subscribe(engine.source, () => {});
    const next = subscription.receive();
    subscription.close();
    subscription.close();
    expect(await next).toBeUndefined();
    expect(await subscription.receive()).toBeUndefined();
  });

  it.each(['udp://127.0.0.1:5557', 'tcp://127.0.0.1', 'inproc://events', 'http://127.0.0.1:5557', '', '@'])(
    'refuse %j',
    async (endpoint) => {
      const sockets = await load();
      await expect(sockets.subscribe({ rank: 0, endpoint, topic: '' }, () => {})).rejects.toThrow(
        'expected tcp://HOST:PORT or ipc://PATH',
      );
      expect(() => sockets.ask(endpoint)).toThrow('expected tcp://HOST:PORT or ipc://PATH');
    },
  );

  it('take no message whose length is claimed beyond the bound, and hold no memory for it', async () => {
    const at = await server((socket) => {
      socket.write(GREETING);
      socket.once('data', () => {
        socket.write(READY);
        // A long frame of 100 MB of which nothing follows.
        const head = Buffer.alloc(9);
        head[0] = 2;
        head.writeBigUInt64BE(100_000_000n, 1);
        socket.write(head);
      });
    });
    const links: boolean[] = [];
    const before = process.memoryUsage().rss;
    const subscription = await (await load()).subscribe({ rank: 0, endpoint: at, topic: '' }, (isUp) =>
      links.push(isUp),
    );
    open.add(() => subscription.close());
    // That it was up for a moment may go unreported.
    await vi.waitFor(() => expect(links.at(-1)).toBe(false));
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
  });
});
