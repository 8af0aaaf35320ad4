import { connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { type Address, formatTcp } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { RpcDialer } from '../../../src/edge/rpc/channel.js';
import {
  CONNECT_ERROR_CODES,
  ConnectError,
  type ConnectErrorCode,
} from '../../../src/edge/rpc/connect-error.js';
import { FIRST_BYTES_TIMEOUT_MS } from '../../../src/edge/rpc/connections.js';
import { wrapServerStream, wrapUnary } from '../../../src/edge/rpc/handlers.js';
import { RpcServer } from '../../../src/edge/rpc/server.js';
import type { ServerStream } from '../../../src/edge/rpc/server-stream.js';
import { loadSecurity } from '../../../src/edge/security/load-security.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { HealthClient } from '../../../src/gen/grpc/health/v1/health.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { BytesClient, BytesService } from './bytes-service.js';
import { TestAuthority, TestFolder } from './certificates.js';
import { heldMemory } from './collect-garbage.js';
import { collect, unary } from './rpc-calls.js';
import { address, cleanUp, createTestServer, dial } from './rpc-test-server.js';

/** A TCP server that does with each connection what the test wants. */
async function tcpPeer(onConnection: (socket: Socket) => void): Promise<{ at: Address; open: () => number }> {
  const sockets = new Set<Socket>();
  const listener: NetServer = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => listener.listen({ host: '127.0.0.1', port: 0 }, resolve));
  cleanUp(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
  const bound = listener.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return { at: address(formatTcp('127.0.0.1', bound.port)), open: () => sockets.size };
}

/** A peer that accepts and says nothing. */
const blackHole = () => tcpPeer((socket) => socket.resume());

async function connectError(at: Address, connectTimeoutMs = 200, security = createPlaintextSecurity()) {
  const error: unknown = await dial(at, security, { connectTimeoutMs })
    .waitForReady()
    .then(
      () => expect.fail('it connected'),
      (thrown) => thrown,
    );
  if (!(error instanceof ConnectError)) throw error;
  return error;
}

describe('connecting', () => {
  const seen = new Set<ConnectErrorCode>();

  it('gives up on a peer that accepts and says nothing, and leaves no socket behind', async () => {
    const { at, open } = await blackHole();
    const error = await connectError(at);
    expect(error.code).toBe('not_http2');
    expect(error.message).toBe(
      `${at.text}: accepts connections but said nothing of HTTP/2 for 0.2 s: ` +
        'it hangs, or it is another program, or only one side uses TLS',
    );
    await expect.poll(open).toBe(0);
    seen.add(error.code);
  });

  it('gives up on a peer that lets the TLS handshake hang, and leaves no socket behind', async () => {
    const { at, open } = await blackHole();
    const tlsCa = new TestFolder().write('ca.crt', (await TestAuthority.create()).pem);
    const security = await loadSecurity({ tlsCa }, { clock: systemClock, logger: new RecordingLogger() });
    cleanUp(() => security.close());
    const error = await connectError(at, 200, security);
    expect(error.code).toBe('not_http2');
    expect(error.message).toContain('said nothing of TLS for 0.2 s');
    await expect.poll(open).toBe(0);
  });

  it('gives up on a peer that speaks HTTP/1.1', async () => {
    const { at } = await tcpPeer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'));
    });
    const error = await connectError(at, 2_000);
    expect(error.code).toBe('not_http2');
    expect(error.message).toMatch(/accepts connections but does not speak plaintext HTTP\/2 \(.+\)/);
  });

  it('says immediately that nothing listens', async () => {
    const { server } = createTestServer();
    const at = await server.start();
    await server.stop(100);
    const error = await connectError(at, 5_000);
    expect(error.code).toBe('refused');
    expect(error.message).toBe(`${at.text}: nothing listens there (connect ECONNREFUSED ${at.text})`);
    seen.add(error.code);
  });

  it('says that a Unix socket is not there', async () => {
    const error = await connectError(address('unix:/nowhere/rpc.sock'), 5_000);
    expect(error.code).toBe('refused');
    expect(error.message).toMatch(/^unix:\/nowhere\/rpc\.sock: nothing listens there \(connect ENOENT/);
  });

  it('says that a name cannot be resolved', async () => {
    // Reserved for this (RFC 6761); with no name server at all the answer may be late, which is an answer too.
    const insisted = createPlaintextSecurity({ allowsPlaintext: true });
    const error = await connectError(address('no-such-host.invalid:50061'), 2_000, insisted);
    expect(['unresolvable', 'no_answer']).toContain(error.code);
    expect(error.message).toMatch(/^no-such-host\.invalid:50061: /);
  });

  it('ends immediately when the caller aborts', async () => {
    const { at, open } = await blackHole();
    const controller = new AbortController();
    const waiting = dial(at, undefined, { connectTimeoutMs: 60_000 }).waitForReady(controller.signal);
    await expect.poll(open).toBe(1);
    controller.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect.poll(open).toBe(0);
  });

  it('leaves no timer when it succeeds, fails or is aborted', async () => {
    const { server } = createTestServer();
    const at = await server.start();
    const clock = new FakeClock();
    const dialer = new RpcDialer({}, { clock, security: createPlaintextSecurity() });
    const channel = dialer.dial(at);
    await channel.waitForReady();
    expect(clock.pendingTimers).toBe(0);
    channel.close();
    await expect(channel.waitForReady()).rejects.toThrow('the channel was closed');
    await server.stop(100);
    await expect(dialer.dial(at).waitForReady()).rejects.toThrow('nothing listens there');
    await expect(dialer.dial(at).waitForReady(AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
    expect(clock.pendingTimers).toBe(0);
  });

  it('uses codes of the closed list', () => {
    expect(CONNECT_ERROR_CODES).toEqual(expect.arrayContaining([...seen]));
  });
});

/** A server on a clock of the test's, with watches that the test speaks on. */
async function serveWatches(mode: 'every' | 'latest-value') {
  const { server } = createTestServer();
  const streams: ServerStream<Buffer>[] = [];
  server.addService(BytesService, {
    echo: wrapUnary(server.edge, (request: Buffer) => request),
    watch: wrapServerStream(server.edge, { mode }, (_request: Buffer, stream) => {
      streams.push(stream);
    }),
  });
  return { server, at: await server.start(), streams };
}

/**
 * A watch whose reader stops after the first message. (Before its first read a
 * grpc-js client takes everything that comes: only then it keeps to the pace.)
 */
async function stalledWatch(mode: 'every' | 'latest-value') {
  const { at, streams, server } = await serveWatches(mode);
  const call = dial(at).createClient(BytesClient).watch(Buffer.alloc(0));
  call.on('error', () => undefined);
  cleanUp(() => call.cancel());
  await expect.poll(() => streams.length).toBe(1);
  const stream = streams[0] as ServerStream<Buffer>;
  stream.send(Buffer.from('first'));
  await new Promise((resolve) => call.once('data', resolve));
  call.pause();
  return { call, stream, server };
}

describe('a slow reader', () => {
  it('gets the newest value and costs two messages of memory at most', async () => {
    const { call, stream } = await stalledWatch('latest-value');
    let largest = 0;
    const before = await heldMemory();
    for (let i = 0; i < 2_000; i += 1) {
      const message = Buffer.alloc(100_000);
      message.writeUInt32LE(i);
      stream.send(message);
      largest = Math.max(largest, stream.backlog);
      // Lets the sockets run, so that what can be sent is sent.
      await turns();
    }
    expect(largest).toBe(2);
    const grownBytes = (await heldMemory()).arrayBuffers - before.arrayBuffers;
    expect(grownBytes, 'of 200 MB that were offered').toBeLessThan(10_000_000);
    const got: number[] = [];
    call.on('data', (message: Buffer) => got.push(message.readUInt32LE()));
    call.resume();
    await expect.poll(() => got.at(-1), { timeout: 10_000 }).toBe(1_999);
    expect(got.length, 'the values between were left out').toBeLessThan(500);
    expect(got, 'in order').toEqual([...got].sort((a, b) => a - b));
  });

  it('makes a sender of every message wait', async () => {
    const { call, stream } = await stalledWatch('every');
    let written = 0;
    const writer = (async () => {
      for (let i = 0; i < 300 && stream.isOpen; i += 1) {
        await stream.write(Buffer.alloc(100_000));
        written += 1;
      }
    })();
    const stuckAt = await steady(() => written);
    expect(stuckAt).toBeLessThan(100);
    let got = 0;
    call.on('data', () => {
      got += 1;
    });
    call.resume();
    await writer;
    await expect.poll(() => got).toBe(300);
  });

  it('that leaves lets a waiting sender go', async () => {
    const { call, stream, server } = await stalledWatch('every');
    const writer = (async () => {
      while (stream.isOpen) await stream.write(Buffer.alloc(100_000));
    })();
    await steady(() => stream.backlog);
    call.cancel();
    await writer;
    await expect.poll(() => server.openCalls).toBe(0);
  });
});

describe('a peer that hangs', () => {
  it('without a byte of HTTP/2 loses its connection after a while, a quiet client does not', async () => {
    const clock = new FakeClock();
    const server = new RpcServer(
      { listen: address('127.0.0.1:0') },
      { clock, logger: new RecordingLogger(), random: systemRandom, security: createPlaintextSecurity() },
    );
    cleanUp(() => server.stop(0));
    const at = await server.start();
    const quiet = dial(at);
    await quiet.waitForReady();
    const mute = connect({ host: '127.0.0.1', port: at.type === 'tcp' ? at.port : 0 });
    const closed = new Promise((resolve) => mute.once('close', resolve));
    mute.resume();
    await expect.poll(() => server.openConnections).toBe(2);
    await clock.advanceMs(FIRST_BYTES_TIMEOUT_MS);
    await closed;
    await expect.poll(() => server.openConnections).toBe(1);
    const health = await unary<{ status: number }>((done) =>
      quiet.createClient(HealthClient).check({ service: '' }, done),
    );
    expect(health.status).toBe(1);
    quiet.close();
    await expect.poll(() => server.openConnections).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('half-open in the middle of a stream is noticed by the side that waits for heartbeats, and ended by `close`', async () => {
    const { at, streams, server } = await serveWatches('latest-value');
    const port = at.type === 'tcp' ? at.port : 0;
    let isCut = false;
    // A cable that can be pulled: bytes are swallowed in both directions, no FIN and no RST.
    const cable = await tcpPeer((near) => {
      const far = connect({ host: '127.0.0.1', port });
      far.on('error', () => undefined);
      near.on('data', (bytes) => isCut || far.write(bytes));
      far.on('data', (bytes) => isCut || near.write(bytes));
      near.on('close', () => far.destroy());
    });
    const channel = dial(cable.at);
    const watch = collect(channel.createClient(BytesClient).watch(Buffer.alloc(0)));
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.send(Buffer.from('heartbeat'));
    await watch.next();
    isCut = true;
    streams[0]?.send(Buffer.from('lost'));
    channel.close();
    expect((await watch.ended).code).not.toBe(status.OK);
    await expect.poll(() => cable.open()).toBe(0);
    await expect.poll(() => server.openCalls).toBe(0);
  });
});

describe('a server that dies', () => {
  it('ends the watches on it with an error', async () => {
    const { at, streams, server } = await serveWatches('latest-value');
    const watch = collect(dial(at).createClient(BytesClient).watch(Buffer.alloc(0)));
    await expect.poll(() => streams.length).toBe(1);
    streams[0]?.send(Buffer.from('alive'));
    await watch.next();
    await server.stop(0);
    const error = (await watch.ended) as Partial<ServiceError>;
    expect([status.OK, status.UNAVAILABLE, status.CANCELLED]).toContain(error.code);
  });
});

/** The value once it has stayed the same for a while. */
async function steady(read: () => number): Promise<number> {
  let last = read();
  for (let same = 0; same < 20; ) {
    await turns();
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return last;
}
