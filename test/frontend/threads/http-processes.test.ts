import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { MetricsPage } from '../../../src/edge/http/metrics-page.js';
import type { SecondaryProcessEvents } from '../../../src/edge/platform/processes/secondary-process.js';
import { HttpProcesses, HttpProcessesError } from '../../../src/frontend/threads/http-processes.js';
import type { ProcessOrder, ProcessReport } from '../../../src/frontend/threads/messages.js';
import { snapshotOf } from '../../../src/frontend/threads/metrics-snapshot.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';

/** A process that does what the test says. */
class FakeProcess {
  readonly assignment: string;
  readonly orders: ProcessOrder[] = [];
  readonly #events: SecondaryProcessEvents;
  isKilled = false;

  constructor(assignment: string, events: SecondaryProcessEvents) {
    this.assignment = assignment;
    this.#events = events;
  }

  report(report: ProcessReport): void {
    this.#events.onMessage(report);
  }

  send(message: unknown): void {
    this.#events.onMessage(message);
  }

  serve(): void {
    this.report({ type: 'listening', address: '127.0.0.1:8000' });
  }

  end(how = 'was ended by SIGKILL'): void {
    this.#events.onEnd(how);
  }

  ordersOf(type: ProcessOrder['type']): ProcessOrder[] {
    return this.orders.filter((order) => order.type === type);
  }
}

interface Made {
  readonly processes: HttpProcesses;
  readonly members: FakeProcess[];
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly registry: Registry;
  /** The groups that are served. */
  readonly groups: string[];
}

function make(): Made {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const registry = new Registry();
  const members: FakeProcess[] = [];
  const groups = ['tiny'];
  const processes = new HttpProcesses(
    {
      threads: 2,
      port: 8000,
      statusAddress: '127.0.0.1:9463',
      router: 'unix:/tmp/router',
      drainTimeoutMs: 30_000,
    },
    {
      clock,
      logger,
      registry,
      random: { fraction: () => 0, uniqueId: () => '' },
      groups: () => groups,
      startProcess: (assignment, events) => {
        const member = new FakeProcess(assignment, events);
        members.push(member);
        return {
          send: (order) => void member.orders.push(structuredClone(order) as ProcessOrder),
          kill: () => {
            member.isKilled = true;
            queueMicrotask(() => member.end());
          },
        };
      },
    },
  );
  return { processes, members, clock, logger, registry, groups };
}

async function started(): Promise<Made> {
  const made = make();
  const start = made.processes.start();
  for (const member of made.members) member.serve();
  expect(await start).toBe('127.0.0.1:8000');
  return made;
}

describe('the processes that serve HTTP', () => {
  it('know their number, ports and router from the start, and the server is up when each listens', async () => {
    const { processes, members } = make();
    let address = '';
    void processes.start().then((where) => {
      address = where;
    });
    expect(members).toHaveLength(2);
    members[0]?.serve();
    await turns();
    expect(address).toBe('');
    members[1]?.serve();
    await turns();
    expect(address).toBe('127.0.0.1:8000');
    expect(members.map(({ assignment }) => JSON.parse(assignment))).toEqual(
      [1, 2].map((thread) => ({
        thread,
        port: 8000,
        statusAddress: '127.0.0.1:9463',
        router: 'unix:/tmp/router',
      })),
    );
  });

  it('all end when one of them cannot serve at the start, with its own words', async () => {
    const { processes, members, clock } = make();
    const start = processes.start();
    members[0]?.serve();
    members[1]?.report({ type: 'unable', message: '--http-port: taken', isSetting: true });
    members[1]?.end('ended with code 2');
    await expect(start).rejects.toMatchObject({ message: '--http-port: taken', isSetting: true });
    expect(members[0]?.isKilled).toBe(true);
    expect(members).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('all end when one of them ends before it has served', async () => {
    const { processes, members } = make();
    const start = processes.start();
    members[0]?.end('ended with code 1');
    const error = await start.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HttpProcessesError);
    expect(error).toMatchObject({
      message: 'HTTP process 1 ended with code 1 before it served',
      isSetting: false,
    });
  });

  it('are started again when one ends, and the other goes on', async () => {
    const { members, clock, logger } = await started();
    members[0]?.end();
    expect(logger.messages('error')).toEqual([
      'HTTP process 1 was ended by SIGKILL. Its requests are lost and no longer count as active; it is started again in 125 ms.',
    ]);
    await clock.advanceMs(125);
    expect(members).toHaveLength(3);
    // What it sends after its end, on a way that was slow, is not read.
    members[0]?.send('anything');
    expect(members[2]?.isKilled).toBe(false);
    members[2]?.serve();
    expect(logger.messages('info')).toEqual(['HTTP process 1 serves again.']);
    // One that ends over and over is started less and less often.
    members[2]?.end();
    await clock.advanceMs(249);
    expect(members).toHaveLength(3);
    await clock.advanceMs(1);
    expect(members).toHaveLength(4);
  });

  const invalid: readonly (readonly [string, unknown])[] = [
    ['no object', 'hello'],
    ['an unknown kind', { type: 'hello' }],
    ['that it listens, once more', { type: 'listening', address: '127.0.0.1:8000' }],
    ['an address that is no text', { type: 'listening', address: 8000 }],
    ['a number that is none', { type: 'ask_page', id: Number.NaN, accept: '' }],
    ['metrics under names of others', { type: 'metrics', id: 1, metrics: [{ name: 'up', values: [] }] }],
  ];
  it.each(invalid)('are ended for a message that is not valid: %s', async (_name, message) => {
    const { members, logger } = await started();
    members[1]?.send(message);
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(logger.messages('error')[0]).toContain('sent a message that is not valid');
  });

  it('are ended when one of them says nothing for 30 s', async () => {
    const { members, clock, logger } = await started();
    for (let at = 0; at < 6; at += 1) {
      await clock.advanceMs(5_000);
      members[0]?.report({ type: 'metrics', id: 0, metrics: [] });
    }
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(members[0]?.ordersOf('ask_metrics')).toHaveLength(6);
    expect(logger.messages('error')[0]).toContain('said nothing for 30 s');
  });

  it('count together on one page, and what one has counted stays when it ends', async () => {
    const { members, registry, clock } = await started();
    const scrape = async (counts: readonly (number | undefined)[]): Promise<string> => {
      const page = MetricsPage.of(registry).answer(undefined);
      await turns();
      for (const [at, count] of counts.entries()) {
        const order = members[at]?.ordersOf('ask_metrics').at(-1);
        if (order?.type !== 'ask_metrics' || count === undefined) continue;
        const own = new Registry();
        new Counter({ name: 'kv_accord_frontend_requests_total', help: 'Requests.', registers: [own] }).inc(
          count,
        );
        members[at]?.report({ type: 'metrics', id: order.id, metrics: await snapshotOf(own) });
      }
      await clock.advanceMs(2_000);
      return (await page).body;
    };
    expect(await scrape([3, 4])).toMatch(/^kv_accord_frontend_requests_total 7$/m);
    // One that does not answer in time counts as it did.
    const text = await scrape([5, undefined]);
    expect(text).toMatch(/^kv_accord_frontend_requests_total 9$/m);
    expect(text).toMatch(/^kv_accord_frontend_threads 2$/m);
    members[0]?.end();
    expect(await scrape([undefined, 6])).toMatch(/^kv_accord_frontend_requests_total 11$/m);
    members[1]?.report({ type: 'ask_page', id: 1, accept: '' });
    await clock.advanceMs(2_000);
    await turns();
    expect(members[1]?.ordersOf('page')).toMatchObject([
      { answer: { status: 200, body: expect.stringContaining('requests_total 11') } },
    ]);
  });

  it('no longer count for a group that has left, neither those that run nor those that have ended', async () => {
    const { members, registry, clock, groups } = await started();
    const own = new Registry();
    const counter = new Counter({
      name: 'kv_accord_frontend_requests_total',
      help: 'Requests.',
      labelNames: ['group'],
      registers: [own],
    });
    for (const group of ['tiny', 'other', '']) counter.inc({ group });
    const metrics = await snapshotOf(own);
    for (const member of members.slice(0, 2)) member.report({ type: 'metrics', id: 1, metrics });
    members[0]?.end();
    const scrape = async (): Promise<string> => {
      const page = MetricsPage.of(registry).answer(undefined);
      await turns();
      await clock.advanceMs(2_000);
      return (await page).body;
    };
    expect(await scrape()).toMatch(/requests_total\{group="tiny"\} 2/);
    expect(await scrape()).not.toContain('group="other"');
    groups.length = 0;
    const text = await scrape();
    expect(text).not.toContain('group="tiny"');
    expect(text).toMatch(/requests_total\{group=""\} 2/);
    groups.push('tiny');
    // What has ended does not come back; a process that runs reports what it still counts.
    expect(await scrape()).toMatch(/requests_total\{group="tiny"\} 1/);
  });

  it('that have no requests yet are ended immediately', async () => {
    const { processes, members, clock } = make();
    void processes.start();
    await turns();
    await processes.stop();
    expect(members.map(({ isKilled }) => isKilled)).toEqual([true, true]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are let end in order, and ended when that takes too long', async () => {
    const { processes, members, clock, logger } = await started();
    const stop = processes.stop();
    await turns();
    expect(members.map((member) => member.ordersOf('drain').length)).toEqual([1, 1]);
    members[0]?.end('ended with code 0');
    await clock.advanceMs(25_000);
    members[1]?.report({ type: 'metrics', id: 0, metrics: [] });
    expect(members[1]?.isKilled).toBe(false);
    await clock.advanceMs(10_000);
    await stop;
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(logger.messages('error')).toEqual([]);
    expect(members).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });
});
