import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { RpcError } from '../../../src/edge/rpc/errors.js';
import { wrapServerStream } from '../../../src/edge/rpc/handlers.js';
import { RpcServer } from '../../../src/edge/rpc/server.js';
import type { ServerStream, ServerStreamOptions } from '../../../src/edge/rpc/server-stream.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { BytesClient, BytesService } from './bytes-service.js';
import { collect } from './rpc-calls.js';
import { address, cleanUp, dial } from './rpc-test-server.js';

/** One watch, on a clock of the test's; the server's side of it and the reader's. */
async function openWatch(options: ServerStreamOptions<Buffer>) {
  const clock = new FakeClock();
  const server = new RpcServer(
    { listen: address('127.0.0.1:0') },
    { clock, logger: new RecordingLogger(), random: systemRandom, security: createPlaintextSecurity() },
  );
  cleanUp(() => server.stop(0));
  const opened = new Promise<ServerStream<Buffer>>((resolve) => {
    server.addService(BytesService, {
      watch: wrapServerStream(server.edge, options, (_request: Buffer, stream) => resolve(stream)),
    });
  });
  const channel = dial(await server.start());
  const watch = collect(channel.createClient(BytesClient).watch(Buffer.alloc(0)));
  const next = async (): Promise<string> => String(await watch.next());
  return { clock, server, stream: await opened, watch, next };
}

const HEARTBEAT = { intervalMs: 5_000, make: () => Buffer.from('heartbeat') };

describe('a server stream', () => {
  it('sends a heartbeat after each interval of silence', async () => {
    const { clock, next } = await openWatch({ mode: 'latest-value', heartbeat: HEARTBEAT });
    await clock.advanceMs(5_000);
    expect(await next()).toBe('heartbeat');
    await clock.advanceMs(5_000);
    expect(await next()).toBe('heartbeat');
  });

  it('counts the silence from the last message', async () => {
    const { clock, stream, next } = await openWatch({ mode: 'latest-value', heartbeat: HEARTBEAT });
    await clock.advanceMs(4_000);
    await stream.write(Buffer.from('news'));
    await clock.advanceMs(4_000);
    await stream.write(Buffer.from('more news'));
    expect(await next()).toBe('news');
    expect(await next()).toBe('more news');
    await clock.advanceMs(5_000);
    expect(await next()).toBe('heartbeat');
  });

  it('sends what was written before it ends', async () => {
    const { stream, watch, next } = await openWatch({ mode: 'every' });
    stream.send(Buffer.from('one'));
    stream.send(Buffer.from('two'));
    stream.end();
    stream.send(Buffer.from('too late'));
    expect(await next()).toBe('one');
    expect(await next()).toBe('two');
    expect(await watch.ended).toMatchObject({ code: status.OK });
  });

  it('ends with an error after what was written', async () => {
    const { stream, watch, next } = await openWatch({ mode: 'every' });
    stream.send(Buffer.from('one'));
    stream.end(new RpcError('unavailable', 'gone'));
    expect(await next()).toBe('one');
    expect(await watch.ended).toMatchObject({ code: status.UNAVAILABLE, details: 'gone' });
  });

  it('says that it is over when the reader leaves, and leaves no timer of its own', async () => {
    const { clock, server, stream, watch } = await openWatch({ mode: 'latest-value', heartbeat: HEARTBEAT });
    const timers = clock.pendingTimers;
    watch.cancel();
    await expect.poll(() => stream.signal.aborted).toBe(true);
    expect(stream.isOpen).toBe(false);
    expect(clock.pendingTimers).toBe(timers - 1);
    expect(server.edge.streams.size).toBe(0);
    await stream.write(Buffer.from('to nobody'));
    stream.end();
  });

  it('ends with the server', async () => {
    const { server, stream, watch } = await openWatch({ mode: 'every', heartbeat: HEARTBEAT });
    const stopped = server.stop(0);
    expect(await watch.ended).toMatchObject({ code: status.OK });
    expect(stream.isOpen).toBe(false);
    await stopped;
  });
});
