import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { HEARTBEAT_DEADLINE_S } from '../../../../src/core/relay/heartbeats.js';
import { FAULT_REASON } from '../../../../src/edge/platform/streams/stream-refusals.js';
import { MAX_REPORT_BYTES } from '../../../../src/fleet/aggregator/sessions/worker-session.js';
import { KvEventsClient } from '../../../../src/gen/kvaccord/v1/kv_events.js';
import { freePort } from '../../../support/ports.js';
import { makeWireReport } from '../../../support/reports.js';
import { createPool, startSidecar } from './session-fixture.js';

describe('a session', () => {
  it('passes on the first report, every change, and heartbeats', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.setReport(makeWireReport('w-1', { size: 64, revision: 2n }));
    await recorder.until(() => recorder.reports.length === 2);
    sidecar.sendHeartbeat();
    await recorder.until(() => recorder.events.length === 3);
    expect(recorder.events).toEqual(['report w-1 32', 'report w-1 64', 'alive w-1']);
    expect(recorder.reports[0]).toEqual(makeWireReport('w-1'));
    expect(recorder.receivedAtMs[0]).toBe(clock.wallMs());
    expect(sidecar.requests).toEqual([{ lastInstanceId: '', lastRevision: 0n, frontendId: '' }]);
  });

  it('passes on that a sidecar is asked for offers, after what its message brought, and again after a break', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.isOfferAsked = true;
    sidecar.sendHeartbeat();
    await recorder.until(() => recorder.events.length === 3);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('broken') === 1);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.count('asked') === 2);
    expect(recorder.events.filter((event) => !event.startsWith('broken'))).toEqual([
      'report w-1 32',
      'alive w-1',
      'asked w-1',
      'alive w-1',
      'asked w-1',
    ]);
  });

  it('comes back after a break and asks only for what it does not have', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('broken') === 1);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.events.at(-1) === 'alive w-1');
    expect(sidecar.requests[1]).toEqual({ lastInstanceId: 'w-1-1', lastRevision: 1n, frontendId: '' });
    expect(recorder.reports).toHaveLength(1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/the connection broke or the sidecar is going away/);
  });

  it('lends its connection to others for as long as it stands, and takes it back before it closes it', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.channels.size === 1);
    const client = recorder.channels.get('w-1')?.createClient(KvEventsClient);
    const ended = new Promise<void>((resolve) => {
      client
        ?.subscribe({ resumeStreamId: '', resumeSequence: 0n, tokensPerBlock: 0 })
        .on('error', () => resolve())
        .on('end', () => resolve());
    });
    await sidecar.until(() => sidecar.subscriptionRequests.length === 1);
    await ended;
    expect(sidecar.connectionsSeen).toBe(1);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('broken') === 1);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.channels.size === 1);
    pool.close();
    expect(recorder.connections).toEqual([
      'connected w-1',
      'disconnected w-1',
      'connected w-1',
      'disconnected w-1',
    ]);
  });

  it('ends its own stream, with a reason and counted, when this program fails on a report of it', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, refusals, logger, clock } = createPool();
    recorder.failure = new RangeError('Invalid time value');
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.count('broken') === 1);
    expect(recorder.brokenReasons('w-1')).toEqual([FAULT_REASON]);
    expect([refusals.countOf('fault'), logger.messages('error').length]).toEqual([1, 1]);
    recorder.failure = undefined;
    await clock.advanceMs(250);
    // It was not taken for known.
    await recorder.until(() => recorder.reports.length === 1);
  });

  it('asks again for a report that its listener does not keep', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    recorder.answer = false;
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.cutConnections();
    await recorder.until(() => recorder.count('broken') === 1);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.reports.length === 2);
    expect(sidecar.requests[1]).toEqual({ lastInstanceId: '', lastRevision: 0n, frontendId: '' });
  });

  it('says that a sidecar ended the stream in order', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.endWatches();
    await recorder.until(() => recorder.count('broken') === 1);
    expect(recorder.brokenReasons('w-1')).toEqual([
      'the sidecar ended the stream in order: it is being shut down or restarted',
    ]);
  });

  it('gives a sidecar up that is silent for longer than the deadline, and not before', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    await clock.advanceMs(HEARTBEAT_DEADLINE_S * 1_000);
    expect(recorder.count('broken')).toBe(0);
    await clock.advanceMs(1_000);
    expect(recorder.brokenReasons('w-1')).toEqual([
      'the connection stands but nothing was heard for 15 s: the sidecar hangs or the network drops packets',
    ]);
    await sidecar.until(() => sidecar.openConnections === 0);
  });

  it('keeps a sidecar that sends heartbeats, however long', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    for (let beat = 1; beat <= 10; beat += 1) {
      await clock.advanceMs(14_000);
      sidecar.sendHeartbeat();
      await recorder.until(() => recorder.count('alive') === beat);
    }
    expect(recorder.count('broken')).toBe(0);
    expect(sidecar.connectionsSeen).toBe(1);
  });

  it('is not moved by a wall clock that steps, forth or back', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    for (const [index, stepMs] of [3_600_000, -7_200_000, 86_400_000].entries()) {
      clock.stepWallMs(stepMs);
      await clock.advanceMs(10_000);
      sidecar.sendHeartbeat();
      await recorder.until(() => recorder.count('alive') === index + 1);
    }
    expect(recorder.count('broken')).toBe(0);
  });

  it('notices heartbeats that name another report than it was sent, and begins again', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    sidecar.setReportSilently(makeWireReport('w-1', { size: 64, revision: 2n }));
    sidecar.sendHeartbeat();
    sidecar.sendHeartbeat();
    await recorder.until(() => recorder.count('broken') === 1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/heartbeats name another report/);
    await clock.advanceMs(250);
    await recorder.until(() => recorder.reports.length === 2);
    expect(sidecar.requests[1]).toEqual({ lastInstanceId: '', lastRevision: 0n, frontendId: '' });
  });

  it('counts a message of a kind that it does not know as a sign of life', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    // Field 15, a string: what a later version might send.
    sidecar.sendBytes(Buffer.from([0x7a, 0x01, 0x61]));
    await recorder.until(() => recorder.events.length === 2);
    expect(recorder.events[1]).toBe('alive w-1');
  });
});

describe('a session whose sidecar is not there', () => {
  it('knocks at its address, does not say so each time, and connects as soon as a sidecar is there', async () => {
    const port = await freePort();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: `127.0.0.1:${port}` }]);
    await recorder.until(() => recorder.count('broken') === 1);
    for (let at = 0; at < 3; at += 1) {
      await clock.advanceMs(1_000);
      // One of the test's own at the same port: it ends after that of the session.
      await new Promise<void>((resolve) => connect(port, '127.0.0.1').once('error', () => resolve()));
    }
    // By the connection that failed and by the first knock, and by no other.
    expect(recorder.count('broken')).toBe(2);
    expect(new Set(recorder.brokenReasons('w-1')).size).toBe(1);
    const sidecar = await startSidecar({ port });
    await clock.advanceMs(1_000);
    await recorder.until(() => recorder.reports.length === 1);
    // The knock, and the connection.
    expect(sidecar.connectionsSeen).toBe(2);
  });

  it('says so again when it fails in another way', async () => {
    const port = await freePort();
    const { pool, recorder, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: `127.0.0.1:${port}` }]);
    await recorder.until(() => recorder.count('broken') === 1);
    await startSidecar({ port, mode: 'hang_up' });
    await clock.advanceMs(1_000);
    await recorder.until(() => recorder.count('broken') === 2);
    expect(recorder.brokenReasons('w-1')).toEqual([
      expect.stringContaining('nothing listens there'),
      expect.stringContaining('does not speak plaintext HTTP/2'),
    ]);
  });

  it('holds no place at the gate while it knocks, so that those who are there go first', async () => {
    const port = await freePort();
    const { pool, recorder, clock } = createPool({ maxConnecting: 1 });
    pool.setEndpoints([{ target: 'gone', address: `127.0.0.1:${port}` }]);
    await recorder.until(() => recorder.count('broken') === 1);
    const sidecar = await startSidecar();
    // Its time has come, and what it finds is not known yet.
    await clock.advanceMs(250);
    pool.setEndpoints([
      { target: 'gone', address: `127.0.0.1:${port}` },
      { target: 'w-1', address: sidecar.address },
    ]);
    await recorder.until(() => recorder.reports.length === 1);
  });
});

describe('a session says in words', () => {
  it('that nothing listens there', async () => {
    const port = await freePort();
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: `127.0.0.1:${port}` }]);
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/nothing listens there .*ECONNREFUSED/);
  });

  it('that plaintext must not leave this machine unless a setting allows it', async () => {
    const { recorder, pool } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: 'worker-1:50061' }]);
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/plaintext beyond this machine/);
  });

  it('that it is no kv-accord sidecar', async () => {
    const sidecar = await startSidecar({ mode: 'refuse' });
    sidecar.refusal = { code: status.UNIMPLEMENTED, details: 'unknown service' };
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toBe(
      'answers gRPC but is not a kv-accord sidecar (UNIMPLEMENTED "unknown service"): is it the engine\'s own port?',
    );
  });

  it('that it is refused as unauthenticated', async () => {
    const sidecar = await startSidecar({ mode: 'refuse' });
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(
      /unauthenticated \(UNAUTHENTICATED "no token"\): set --token-file/,
    );
  });

  it('that a report is too large', async () => {
    const sidecar = await startSidecar({ mode: 'silent' });
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await sidecar.until(() => sidecar.openWatches === 1);
    sidecar.sendBytes(Buffer.alloc(MAX_REPORT_BYTES + 1));
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toContain('a report of 524289 bytes, at most 524288 are taken');
  });

  it('that a message cannot be read', async () => {
    const sidecar = await startSidecar({ mode: 'silent' });
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await sidecar.until(() => sidecar.openWatches === 1);
    // A report that says it has 100 bytes and ends after one.
    sidecar.sendBytes(Buffer.from([0x0a, 100, 1]));
    await recorder.until(() => recorder.events.length === 1);
    expect(recorder.brokenReasons('w-1')[0]).toMatch(/sent a message that cannot be read/);
  });
});

describe('a session makes a chatty worker wait', () => {
  it('reads what is over the limit later, says so once, and does not take the pause for silence', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder, logger, clock } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address }]);
    await recorder.until(() => recorder.reports.length === 1);
    for (let i = 0; i < 200; i += 1) sidecar.sendHeartbeat();
    await recorder.until(() => recorder.events.length === 41);
    expect(logger.messages('warn')[0]).toMatch(/w-1 sends more than 20 messages or 1048576 bytes a second/);
    // The rest comes at 20 a second; each needs its turn of the clock and of the socket.
    while (recorder.count('alive') < 200) {
      const before = recorder.events.length;
      await clock.advanceMs(100);
      await recorder.until(() => recorder.events.length > before);
    }
    expect(clock.monotonicMs()).toBeGreaterThan(7_000);
    expect(recorder.count('broken')).toBe(0);
    expect(logger.lines).toHaveLength(1);
  });
});

describe('a pool', () => {
  it('begins again with a worker that is another one under its name, also at the same address', async () => {
    const sidecar = await startSidecar();
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address, identity: 'one' }]);
    await recorder.until(() => recorder.reports.length === 1);
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address, identity: 'one' }]);
    expect(sidecar.requests).toHaveLength(1);
    pool.setEndpoints([{ target: 'w-1', address: sidecar.address, identity: 'two' }]);
    await recorder.until(() => recorder.reports.length === 2);
    expect(sidecar.requests).toEqual([
      { lastInstanceId: '', lastRevision: 0n, frontendId: '' },
      { lastInstanceId: '', lastRevision: 0n, frontendId: '' },
    ]);
  });

  it('keeps its sessions in step with the list', async () => {
    const [first, second] = [await startSidecar(), await startSidecar()];
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'a', address: first.address }]);
    await recorder.until(() => recorder.count('report a') === 1);
    pool.setEndpoints([
      { target: 'a', address: first.address, draining: true },
      { target: 'b', address: second.address },
    ]);
    await recorder.until(() => recorder.count('report b') === 1);
    expect(first.connectionsSeen).toBe(1);
    pool.setEndpoints([{ target: 'b', address: second.address }]);
    await first.until(() => first.openConnections === 0);
    pool.setEndpoints([{ target: 'b', address: first.address }]);
    await second.until(() => second.openConnections === 0);
    await recorder.until(() => recorder.count('report b') === 2);
    expect(pool.size).toBe(1);
    // Who is taken off the list is not broken.
    expect(recorder.count('broken')).toBe(0);
  });

  it('recognises an address that is none', () => {
    const { pool, recorder } = createPool();
    pool.setEndpoints([{ target: 'a', address: 'nonsense' }]);
    expect(recorder.events).toEqual(['broken a: "nonsense" must be HOST:PORT, [::1]:PORT or unix:/path']);
  });

  it('connects to a few at a time', async () => {
    const sidecars = await Promise.all(Array.from({ length: 6 }, () => startSidecar({ mode: 'black_hole' })));
    const seen = (): number => sidecars.reduce((sum, sidecar) => sum + sidecar.connectionsSeen, 0);
    const { pool, recorder } = createPool({ maxConnecting: 2 });
    pool.setEndpoints(sidecars.map(({ address }, index) => ({ target: `w-${index}`, address })));
    await Promise.all(sidecars.slice(0, 2).map((s) => s.until(() => s.connectionsSeen === 1)));
    for (const [index, sidecar] of sidecars.entries()) {
      await sidecar.until(() => sidecar.connectionsSeen === 1);
      expect(seen()).toBeLessThanOrEqual(index + 2);
      sidecar.release();
      await recorder.until(() => recorder.count('report') === index + 1);
    }
  });

  it('does not let those that hang keep the others waiting', async () => {
    const hole = await startSidecar({ mode: 'black_hole' });
    const good = await startSidecar();
    const { pool, recorder, clock } = createPool({ maxConnecting: 1 });
    pool.setEndpoints([
      { target: 'hole', address: hole.address },
      { target: 'good', address: good.address },
    ]);
    await hole.until(() => hole.connectionsSeen === 1);
    expect(good.connectionsSeen).toBe(0);
    await clock.advanceMs(500);
    await recorder.until(() => recorder.count('report good') === 1);
    expect(recorder.count('broken')).toBe(0);
  });
});
