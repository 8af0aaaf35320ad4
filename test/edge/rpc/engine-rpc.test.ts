import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ProbeError } from '../../../src/edge/platform/probe-error.js';
import { createEngineRpc } from '../../../src/edge/rpc/engine-rpc.js';
import { ControlService } from '../../../src/gen/engines/vllm/control.js';
import { serveGrpc } from '../../engines/probing/recorded-grpc-engine.js';
import { FakeClock } from '../../support/fake-clock.js';

interface RawServer extends AsyncDisposable {
  readonly address: string;
  readonly connected: Promise<Socket>;
  readonly closed: Promise<void>;
}

/** A TCP server that does with each connection what the test says. */
async function rawServer(onSocket: (socket: Socket) => void): Promise<RawServer> {
  let connected: (socket: Socket) => void = () => {};
  let closed: () => void = () => {};
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => closed());
    connected(socket);
    onSocket(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connected: new Promise((resolve) => {
      connected = resolve;
    }),
    closed: new Promise((resolve) => {
      closed = resolve;
    }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function ask(address: string, clock: FakeClock, signal = new AbortController().signal): Promise<ProbeError> {
  return createEngineRpc({}, { clock })
    .call(address, ControlService.getServerInfo, {}, { signal })
    .then(
      () => {
        throw new Error('expected a failure');
      },
      (cause: unknown) => {
        if (cause instanceof ProbeError) return cause;
        throw cause;
      },
    );
}

describe('a call of an engine over gRPC', () => {
  it('gives the answer, and leaves no timer and no connection', async () => {
    const clock = new FakeClock();
    await using engine = await serveGrpc([[ControlService.getServerInfo, { hex: '3040' }]]);
    const signal = new AbortController().signal;
    const answer = await createEngineRpc({}, { clock }).call(
      engine.address,
      ControlService.getServerInfo,
      {},
      { signal },
    );
    expect(answer.kvBlockSize).toBe(64);
    expect(clock.pendingTimers).toBe(0);
  });

  it('distinguishes a peer to which no connection can be made', async () => {
    const clock = new FakeClock();
    await using silent = await rawServer((socket) => socket.resume());
    const failure = ask(silent.address, clock);
    // Nothing of the network has had a turn yet: for the call it is silent.
    await clock.advanceMs(2_000);
    expect(await failure).toMatchObject({
      code: 'no_connection',
      message: expect.stringContaining('no connection within 2000 ms'),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives up on a peer that accepts TCP and never speaks HTTP/2', async () => {
    const clock = new FakeClock();
    let heard: () => void = () => {};
    const spoken = new Promise<void>((resolve) => {
      heard = resolve;
    });
    await using silent = await rawServer((socket) => socket.on('data', () => heard()));
    const failure = ask(silent.address, clock);
    await spoken;
    await clock.advanceMs(2_000);
    expect(await failure).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('no HTTP/2 connection'),
    });
    await silent.closed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives up on an engine that takes the call and never answers', async () => {
    const clock = new FakeClock();
    let called: () => void = () => {};
    const reached = new Promise<void>((resolve) => {
      called = resolve;
    });
    await using engine = await serveGrpc([[ControlService.getServerInfo, { hang: () => called() }]]);
    const failure = ask(engine.address, clock);
    await reached;
    await clock.advanceMs(5_000);
    expect(await failure).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('within 5000 ms'),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('says that nobody listens', async () => {
    const gone = await rawServer(() => {});
    await gone[Symbol.asyncDispose]();
    const clock = new FakeClock();
    expect(await ask(gone.address, clock)).toMatchObject({
      code: 'unreachable',
      origin: `gRPC ${gone.address}/vllm.Control/GetServerInfo`,
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not mistake an HTTP/1 server for an engine', async () => {
    await using web = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect((await ask(web.address, new FakeClock())).code).toBe('unreachable');
  });

  it('ends immediately when the round is over', async () => {
    const clock = new FakeClock();
    await using silent = await rawServer((socket) => socket.resume());
    const round = new AbortController();
    const failure = ask(silent.address, clock, round.signal);
    await silent.connected;
    round.abort();
    expect((await failure).code).toBe('timeout');
    await silent.closed;
    expect((await ask(silent.address, clock, round.signal)).message).toContain('round is over');
    expect(clock.pendingTimers).toBe(0);
  });
});
