import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { RpcError } from '../../../../src/edge/rpc/errors.js';
import { SideChannelChecks } from '../../../../src/worker/sidecar/transfer/side-channel-checks.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { closedPort, playSideChannel, recordedAnswer } from './recorded-side-channel.js';

const open = new OpenThings();
afterEach(() => open.close());

/** A listener that counts connections, those that have ended, and what came over them. */
async function listener() {
  const seen = { connections: 0, ended: 0, bytes: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('data', (piece) => {
      seen.bytes += piece.length;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      seen.ended += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

describe('whether a side channel can be connected to from here', () => {
  it('is so where something listens, which gets no byte', async () => {
    const { address, seen } = await listener();
    const checks = new SideChannelChecks({ clock: systemClock });
    expect(await checks.check(address)).toEqual({ reachable: true, reason: '' });
    await expect.poll(() => seen.ended).toBe(1);
    expect(seen.bytes).toBe(0);
  });

  it('leaves a ZeroMQ listener at work, which hears of no message', async () => {
    const played = await playSideChannel(recordedAnswer('bfloat16'), open);
    const checks = new SideChannelChecks({ clock: systemClock });
    expect(await checks.check(played.address)).toMatchObject({ reachable: true });
    expect(played.asked).toEqual([]);
  });

  it('is not so where nothing listens, with the reason', async () => {
    const checks = new SideChannelChecks({ clock: systemClock });
    expect(await checks.check(`127.0.0.1:${await closedPort()}`)).toEqual({
      reachable: false,
      reason: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('is said again for five seconds, and then looked at again', async () => {
    const { address, seen } = await listener();
    const clock = new FakeClock();
    const checks = new SideChannelChecks({ clock });
    await Promise.all([checks.check(address), checks.check(address)]);
    await clock.advanceMs(4_999);
    await checks.check(address);
    await expect.poll(() => seen.ended).toBe(1);
    await clock.advanceMs(1);
    await checks.check(address);
    await expect.poll(() => seen.ended).toBe(2);
    expect(seen.connections).toBe(2);
  });

  it.each([
    '',
    'unix:/run/side.sock',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:99999',
    'tcp://127.0.0.1:5600',
    'http://127.0.0.1:5600/',
    'a b:5600',
    '127.0.0.1:5600\r\nx',
    `${'a'.repeat(300)}:5600`,
    '127.0.0.1:0',
    '127.0.0.1:22',
  ])('is refused for %j', (address) => {
    const checks = new SideChannelChecks({ clock: systemClock });
    expect(() => checks.check(address)).toThrow(RpcError);
    expect(() => checks.check(address)).toThrow(/^address /);
  });

  it('is looked at for 32 at a time, which have two seconds each', async () => {
    const clock = new FakeClock();
    const checks = new SideChannelChecks({ clock });
    // Of a network for documentation, where nobody answers.
    const addressOf = (host: number): string => `192.0.2.${host}:5600`;
    const answers = Array.from({ length: 32 }, (_, host) => checks.check(addressOf(host + 1)));
    expect(() => checks.check(addressOf(100))).toThrow(
      expect.objectContaining({ code: 'too_many_calls', message: expect.stringContaining('ask again') }),
    );
    await clock.advanceMs(2_000);
    for (const answer of await Promise.all(answers)) expect(answer.reachable).toBe(false);
    expect(() => checks.check(addressOf(100))).not.toThrow();
    await clock.advanceMs(2_000);
  });
});
