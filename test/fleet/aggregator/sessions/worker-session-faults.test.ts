import { connect, createServer, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { HEARTBEAT_DEADLINE_S } from '../../../../src/core/relay/heartbeats.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { makeWireReport } from '../../../support/reports.js';
import { cleanUp, createPool, createPoolOn, startSidecar } from './session-fixture.js';

// The runner's workers are started without the flag; a context made after it was set has the function.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The dialer's own bound for TCP, TLS and HTTP/2 together. */
const CONNECT_TIMEOUT_MS = 5_000;

describe('a black hole', () => {
  it('is given up by the watchdog, named as what it is, and leaves no connection behind', async () => {
    const hole = await startSidecar({ mode: 'black_hole' });
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: hole.address }]);
    await hole.until(() => hole.swallowedConnections === 1);
    await clock.advanceMs(CONNECT_TIMEOUT_MS - 1);
    expect(recorder.events).toEqual([]);
    await clock.advanceMs(1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(
      /accepts connections but said nothing of HTTP\/2 for 5 s/,
    );
    await hole.until(() => hole.openConnections === 0);
    for (let failures = 1; failures < 20; failures += 1) {
      await clock.advanceMs(Math.min(longestWaitMs(failures), 1_000));
      await hole.until(() => hole.swallowedConnections === 1);
      await clock.advanceMs(CONNECT_TIMEOUT_MS);
      await hole.until(() => hole.openConnections === 0);
    }
    expect(recorder.events).toHaveLength(20);
    expect(hole.connectionsSeen).toBe(20);
  });

  it('that is only slow is waited for', async () => {
    const slow = await startSidecar({ mode: 'black_hole' });
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: slow.address }]);
    await slow.until(() => slow.connectionsSeen === 1);
    await clock.advanceMs(CONNECT_TIMEOUT_MS - 1);
    slow.release();
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.events).toEqual(['report w-1 32']);
  });
});

describe('a peer that answers HTTP/2 and then nothing', () => {
  it('is given up by the heartbeat deadline, again and again, without a leak', async () => {
    const sidecar = await startSidecar({ mode: 'silent' });
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    for (let round = 1; round <= 5; round += 1) {
      await sidecar.until(() => sidecar.openWatches === 1);
      await clock.advanceMs((HEARTBEAT_DEADLINE_S + 1) * 1_000);
      expect(recorder.count('broken')).toBe(round);
      await sidecar.until(() => sidecar.openConnections === 0);
      // A stream that lasted to the deadline was a good one: the wait begins again.
      await clock.advanceMs(longestWaitMs(1));
    }
  });
});

describe('a half-open connection', () => {
  it('is given up although its TCP stands: what arrives in part is no sign of life', async () => {
    const sidecar = await startSidecar();
    const relay = await startRelay(sidecar.port);
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: `127.0.0.1:${relay.port}` }]);
    await recorder.until(() => recorder.reports.length === 1);
    // From here on nothing arrives any more but the first bytes of a message.
    relay.passOnly(20);
    sidecar.setReport(makeWireReport('w-1', { size: 64, revision: 2n }));
    await relay.swallowed;
    await clock.advanceMs((HEARTBEAT_DEADLINE_S + 1) * 1_000);
    expect(recorder.events).toHaveLength(2);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/nothing was heard for 15 s/);
  });
});

describe('a killed sidecar', () => {
  it('that returns on the same port is judged by its new instance', async () => {
    const first = await startSidecar();
    const { port } = first;
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: first.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    await first.stop();
    await recorder.until(() => recorder.count('broken') === 1);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.count('broken') === 2);
    expect(recorder.brokenReasons('w-1')[1]).toMatch(/nothing listens there/);
    const report = makeWireReport('w-1', { size: 64, instance: 'w-1-2' });
    const second = await startSidecar({ port, report });
    await clock.advanceMs(500);
    await recorder.until(() => recorder.reports.length === 2);
    expect(second.requests).toEqual([{ lastInstanceId: 'w-1-1', lastRevision: 1n, frontendId: '' }]);
    expect(recorder.reports[1]?.instanceId).toBe('w-1-2');
  });

  it('is looked for every second while it is gone, and quickly again after a stream that lived', async () => {
    const sidecar = await startSidecar({ mode: 'hang_up' });
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    for (const [index, waitMs] of [250, 500, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000].entries()) {
      await recorder.until(() => recorder.count('broken') === index + 1);
      await sidecar.until(() => sidecar.openConnections === 0);
      await clock.advanceMs(waitMs - 1);
      expect(sidecar.connectionsSeen).toBe(index + 1);
      if (index === 7) sidecar.mode = 'serve';
      await clock.advanceMs(1);
      await sidecar.until(() => sidecar.connectionsSeen === index + 2);
    }
    await recorder.until(() => recorder.reports.length === 1);
    await clock.advanceMs(15_000);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('broken') === 9);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.count('alive') === 1);
  });
});

describe('fifty flapping workers', () => {
  it('all come back, and nothing of the flapping stays', async () => {
    const rounds = 5;
    const sidecars = await Promise.all(
      Array.from({ length: 50 }, (_, index) => startSidecar({ report: makeWireReport(`w-${index}`) })),
    );
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints(sidecars.map(({ address }, index) => ({ target: `w-${index}`, address })));
    await recorder.until(() => recorder.reports.length === 50);
    for (let round = 1; round <= rounds; round += 1) {
      for (const sidecar of sidecars) sidecar.cutConnections();
      await recorder.until(() => recorder.count('broken') === 50 * round);
      expect(pool.watching).toBe(0);
      await clock.advanceMs(longestWaitMs(round));
      await recorder.until(() => recorder.count('alive') === 50 * round);
    }
    expect(pool.watching).toBe(50);
    await expect.poll(() => sidecars.reduce((sum, { openConnections }) => sum + openConnections, 0)).toBe(50);
    // Each was logged once, however often it flapped: the rest were resumes.
    expect(recorder.reports).toHaveLength(50);
    // One timer for all deadlines, and none for each.
    expect(clock.pendingTimers).toBe(1);
  });
});

describe('a storm of reconnects', () => {
  // 10,000 by KV_ACCORD_TEST_RECONNECTS; two hundred show a leak of anything that counts as well: 4 MB against 0.4 MB.
  const reconnects = Number(process.env['KV_ACCORD_TEST_RECONNECTS'] ?? 200);

  it('leaves no socket, timer or memory behind', {
    timeout: reconnects > 1_000 ? 600_000 : 30_000,
  }, async () => {
    const parallel = 20;
    const sidecars = await Promise.all(Array.from({ length: parallel }, () => startSidecar()));
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints(sidecars.map(({ address }, index) => ({ target: `w-${index}`, address })));
    await recorder.until(() => recorder.reports.length === parallel);
    let failures = 0;
    const storm = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += parallel) {
        recorder.events.length = 0;
        for (const sidecar of sidecars) {
          sidecar.requests.length = 0;
          sidecar.cutConnections();
        }
        await recorder.until(() => recorder.count('broken') === parallel);
        failures += 1;
        await clock.advanceMs(longestWaitMs(failures));
        await recorder.until(() => recorder.count('alive') === parallel);
      }
    };
    // A sidecar hears a moment later that the attempt before the channel has closed its socket. Both ends are in this process.
    const settle = () => expect.poll(() => usedResources().sockets).toBe(2 * parallel);
    // The first rounds warm caches and compile; what comes after must be level.
    await storm(Math.min(reconnects, 200));
    await settle();
    const before = usedResources();
    await storm(reconnects);
    await settle();
    const after = usedResources();
    expect(sidecars.map(({ openConnections }) => openConnections)).toEqual(sidecars.map(() => 1));
    expect(clock.pendingTimers).toBe(1);
    expect(after.timers).toBeLessThanOrEqual(before.timers + 2);
    const grownBytes = after.heapBytes - before.heapBytes;
    // A session that leaked a stream or a channel would keep 20 KB and more for each reconnect.
    expect(grownBytes / reconnects).toBeLessThan(2_000);
  });
});

describe('on the real clock', () => {
  it('a session recovers by itself from a killed sidecar', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder } = createPoolOn(systemClock, { random: systemRandom });
    cleanUp('pool', () => pool.close());
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('alive') === 1);
    expect(sidecar.connectionsSeen).toBe(2);
  });

  it('a pool that is closed while its sessions connect leaves nothing', async () => {
    const hole = await startSidecar({ mode: 'black_hole' });
    const before = usedResources();
    const { pool, recorder } = createPoolOn(systemClock);
    pool.setEndpoints([{ target: 'w-1', address: hole.address }]);
    await hole.until(() => hole.connectionsSeen === 1);
    pool.close();
    await hole.until(() => hole.openConnections === 0);
    expect(recorder.events).toEqual([]);
    // Timers of tests before may have run out meanwhile.
    await expect.poll(() => usedResources().timers).toBeLessThanOrEqual(before.timers);
  });
});

/**
 * The wait after so many failures in a row when the jitter takes nothing off.
 * Tests move their clock by exactly that: a fake clock that runs on past it
 * would run out the watchdog of a connection that real sockets are making.
 */
function longestWaitMs(failures: number): number {
  return Math.min(250 * 2 ** (failures - 1), 15_000);
}

interface Resources {
  readonly sockets: number;
  readonly timers: number;
  /** After a collection. */
  readonly heapBytes: number;
}

function usedResources(): Resources {
  const active = process.getActiveResourcesInfo();
  collectGarbage();
  return {
    sockets: active.filter((name) => name.startsWith('TCPSocket')).length,
    timers: active.filter((name) => name === 'Timeout').length,
    heapBytes: process.memoryUsage().heapUsed,
  };
}

interface Relay {
  readonly port: number;
  /** Lets so many more bytes through to the client and swallows the rest. */
  passOnly(bytes: number): void;
  /** Resolves when something was swallowed. */
  readonly swallowed: Promise<void>;
}

/** Stands between a session and a sidecar and can go half-open. */
async function startRelay(to: number): Promise<Relay> {
  let left = Number.POSITIVE_INFINITY;
  let onSwallowed: () => void = () => undefined;
  const swallowed = new Promise<void>((resolve) => {
    onSwallowed = resolve;
  });
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      client.write(bytes.subarray(0, left));
      if (bytes.length > left) onSwallowed();
      left = Math.max(0, left - bytes.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUp('peer', async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    passOnly: (bytes) => {
      left = bytes;
    },
    swallowed,
  };
}
