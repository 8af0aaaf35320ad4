import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { canTryConnect, type TryConnectFailure, tryConnect } from '../../../src/edge/rpc/try-connect.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { freePort } from '../../support/ports.js';

const open = new OpenThings();
afterEach(() => open.close());

function addressOf(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is no address`);
  return address;
}

async function listen(): Promise<{ address: Address; server: Server; connections: () => Promise<number> }> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => void server.close());
  const { port } = server.address() as { port: number };
  const connections = () =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  return { address: addressOf(`127.0.0.1:${port}`), server, connections };
}

const tryConnectAt = (address: Address, clock = new FakeClock()): Promise<TryConnectFailure | undefined> =>
  new Promise((resolve) => tryConnect(address, 'plaintext', resolve, { clock }));

describe('an attempt to connect', () => {
  it('finds who accepts, and leaves neither a connection nor a timer', async () => {
    const { address, connections } = await listen();
    const clock = new FakeClock();
    expect(await tryConnectAt(address, clock)).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  });

  it.each([
    ['a port', async () => addressOf(`127.0.0.1:${await freePort()}`), 'ECONNREFUSED'],
    ['a socket', async () => addressOf(`unix:${join(tmpdir(), 'kv-accord-nobody.sock')}`), 'ENOENT'],
  ])('says in the words of a connection that nothing listens at %s', async (_, make, code) => {
    const failure = await tryConnectAt(await make());
    expect(failure?.code).toBe(code);
    expect(failure?.explain()).toMatchObject({
      code: 'refused',
      message: expect.stringContaining(`nothing listens there (connect ${code}`),
    });
  });

  it('waits a second for a host that says nothing', async () => {
    const { address, connections } = await listen();
    const clock = new FakeClock();
    const result = tryConnectAt(address, clock);
    // Nothing of the network has had a turn yet: for the attempt it is silent.
    await clock.advanceMs(1_000);
    const failure = await result;
    expect(failure?.code).toBe('silence');
    expect(failure?.explain()).toMatchObject({
      code: 'no_answer',
      message: expect.stringContaining('no answer for 1 s'),
    });
    await vi.waitFor(async () => expect(await connections()).toBe(0));
  });

  it('says nothing any more after it was called off', async () => {
    const { address } = await listen();
    const clock = new FakeClock();
    const results: unknown[] = [];
    const cancel = tryConnect(address, 'plaintext', (failure) => results.push(failure), { clock });
    cancel();
    await tryConnectAt(address);
    expect([results.length, clock.pendingTimers]).toEqual([0, 0]);
  });

  it('is for addresses alone: a name would be resolved for each', () => {
    const can = ['127.0.0.1:1', '[::1]:1', 'unix:/run/a.sock', 'worker-1:1'].map((text) =>
      canTryConnect(addressOf(text)),
    );
    expect(can).toEqual([true, true, true, false]);
  });
});
