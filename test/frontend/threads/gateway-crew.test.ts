import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { MetricsPage } from '../../../src/edge/http/metrics-page.js';
import type { SecondaryProcessEvents } from '../../../src/edge/platform/processes/secondary-process.js';
import { CrewError, GatewayCrew } from '../../../src/frontend/threads/gateway-crew.js';
import type { Served, ThreadMessage, ThreadOrder } from '../../../src/frontend/threads/messages.js';
import { snapshotOf } from '../../../src/frontend/threads/metrics-snapshot.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { makeCatalogue } from '../gateway/gateway-harness.js';

const SERVED: Served = { catalogue: makeCatalogue(), checks: [{ name: 'gate:tiny', ok: true }] };

/** A process that does what the test says. */
class FakeMember {
  readonly orders: ThreadOrder[] = [];
  readonly #events: SecondaryProcessEvents;
  isKilled = false;

  constructor(events: SecondaryProcessEvents) {
    this.#events = events;
  }

  say(...batch: readonly ThreadMessage[]): void {
    this.#events.onMessage(batch);
  }

  sayAnything(batch: unknown): void {
    this.#events.onMessage(batch);
  }

  serve(): void {
    this.say({ type: 'hello' });
    this.say({ type: 'listening', address: '127.0.0.1:8000' });
  }

  end(how = 'was ended by SIGKILL'): void {
    this.#events.onEnd(how);
  }

  told(type: ThreadOrder['type']): ThreadOrder[] {
    return this.orders.filter((order) => order.type === type);
  }
}

interface Crew {
  readonly crew: GatewayCrew;
  readonly members: FakeMember[];
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly registry: Registry;
  /** Reservations that are held. */
  readonly held: Set<string>;
}

function makeCrew(): Crew {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const registry = new Registry();
  const members: FakeMember[] = [];
  const held = new Set<string>();
  const crew = new GatewayCrew(
    {
      threads: 2,
      port: 8000,
      statusAddress: '127.0.0.1:9463',
      maxRequests: 8,
      drainTimeoutMs: 30_000,
    },
    SERVED,
    {
      clock,
      logger,
      registry,
      random: { fraction: () => 0, uniqueId: () => '' },
      turns: {
        soon: (run) => {
          queueMicrotask(run);
          return { clear: () => {} };
        },
      },
      routing: {
        route: async ({ group }) => {
          const name = `${group} ${held.size}`;
          held.add(name);
          return {
            decision: {
              group: 'tiny',
              target: 'w-2:50061',
              workerId: 'w-2',
              instanceId: 'w-2-1',
              rank: 0,
              rankCount: 1,
              epoch: 1,
              tokensPerBlock: 32,
              promptTokens: undefined,
              promptBlocks: 0,
              cachedBlocks: 0,
              isExact: true,
              routingMode: 'exact',
            },
            prefillDone: () => {},
            progress: () => {},
            release: () => void held.delete(name),
          };
        },
      },
      startMember: (events) => {
        const member = new FakeMember(events);
        members.push(member);
        return {
          send: (batch, onWritten) => {
            member.orders.push(...(structuredClone(batch) as ThreadOrder[]));
            onWritten();
          },
          kill: () => {
            member.isKilled = true;
            queueMicrotask(() => member.end());
          },
        };
      },
    },
  );
  return { crew, members, clock, logger, registry, held };
}

async function started(): Promise<Crew> {
  const made = makeCrew();
  const start = made.crew.start();
  for (const member of made.members) member.serve();
  expect(await start).toBe('127.0.0.1:8000');
  return made;
}

const ROUTE: ThreadMessage = {
  type: 'route',
  id: 1,
  request: { group: 'tiny', tokens: undefined, loraName: '', cacheSalt: '', excluded: [] },
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the processes that serve HTTP', () => {
  it('are told who they are and what is served, and the server is up when each listens', async () => {
    const { crew, members } = makeCrew();
    let address = '';
    void crew.start().then((where) => {
      address = where;
    });
    expect(members).toHaveLength(2);
    members[0]?.serve();
    await settled();
    expect(address).toBe('');
    members[1]?.serve();
    await settled();
    expect(address).toBe('127.0.0.1:8000');
    expect(members.map(({ orders }) => orders)).toEqual(
      [1, 2].map((thread) => [
        {
          type: 'start',
          thread,
          port: 8000,
          statusAddress: '127.0.0.1:9463',
          served: JSON.stringify(SERVED),
        },
      ]),
    );
  });

  it('all end when one of them cannot serve at the start, with its own words', async () => {
    const { crew, members, clock } = makeCrew();
    const start = crew.start();
    members[0]?.serve();
    members[1]?.say({ type: 'hello' }, { type: 'unable', message: '--http-port: taken', isSetting: true });
    members[1]?.end('ended with code 2');
    await expect(start).rejects.toMatchObject({ message: '--http-port: taken', isSetting: true });
    expect(members[0]?.isKilled).toBe(true);
    expect(members).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('all end when one of them ends before it has served', async () => {
    const { crew, members } = makeCrew();
    const start = crew.start();
    members[0]?.end('ended with code 1');
    const error = await start.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CrewError);
    expect(error).toMatchObject({
      message: 'HTTP process 1 ended with code 1 before it served',
      isSetting: false,
    });
  });

  it('are started anew when one ends; what it had is released at once, and the other goes on', async () => {
    const { members, clock, logger, held } = await started();
    members[0]?.say(ROUTE);
    members[1]?.say(ROUTE);
    await settled();
    expect(held.size).toBe(2);
    members[0]?.end();
    expect(held.size).toBe(1);
    expect(logger.messages('error')).toEqual([
      'HTTP process 1 was ended by SIGKILL. Its requests are lost and no longer count as active; it is started anew in 125 ms.',
    ]);
    await clock.advanceMs(125);
    expect(members).toHaveLength(3);
    // What it says after its end, on a way that was slow, is nobody's.
    members[0]?.say({ ...ROUTE, id: 2 });
    await settled();
    expect(held.size).toBe(1);
    members[2]?.serve();
    expect(logger.messages('info')).toEqual(['HTTP process 1 serves again.']);
    // One that ends over and over is started less and less often.
    members[2]?.end();
    await clock.advanceMs(249);
    expect(members).toHaveLength(3);
    await clock.advanceMs(1);
    expect(members).toHaveLength(4);
  });

  const impossible: readonly (readonly [string, unknown])[] = [
    ['no batch', { type: 'hello' }],
    ['a second greeting', [{ type: 'hello' }]],
    ['a release of nothing', [{ type: 'release', id: 9, usage: undefined }]],
    ['tokens that are none', [{ ...ROUTE, request: { group: 'tiny', tokens: [1], loraName: '' } }]],
    ['a number that is none', [{ ...ROUTE, id: Number.NaN }]],
    ['metrics under names of others', [{ type: 'metrics', id: 1, metrics: [{ name: 'up', values: [] }] }]],
    ['more than a batch holds', Array.from({ length: 257 }, () => ({ type: 'listening', address: '' }))],
  ];
  it.each(impossible)('are ended for saying what cannot be: %s', async (_name, batch) => {
    const { members, logger } = await started();
    members[1]?.sayAnything(batch);
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(logger.messages('error')[0]).toContain('said what cannot be');
  });

  it('are ended when one of them says nothing for 30 s', async () => {
    const { members, clock, logger } = await started();
    for (let at = 0; at < 6; at += 1) {
      await clock.advanceMs(5_000);
      members[0]?.say({ type: 'metrics', id: 0, metrics: [] });
    }
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(members[0]?.told('ask_metrics')).toHaveLength(6);
    expect(logger.messages('error')[0]).toContain('said nothing for 30 s');
  });

  it('are told what is served when it changes, at most ten times a second, and before a decision that needs it', async () => {
    const { crew, members, clock } = await started();
    const [member] = members;
    crew.show({ ...SERVED });
    await settled();
    expect(member?.told('served')).toEqual([]);
    const groups = ['a', 'b', 'c'].map((name) => ({
      ...SERVED,
      catalogue: makeCatalogue({ reasons: [{ code: 'settling' as const, text: name }] }),
    }));
    await clock.advanceMs(100);
    for (const served of groups) crew.show(served);
    await settled();
    expect(member?.told('served')).toEqual([{ type: 'served', served: JSON.stringify(groups[0]) }]);
    await clock.advanceMs(100);
    await settled();
    expect(member?.told('served')).toHaveLength(2);
    expect(member?.told('served')[1]).toEqual({ type: 'served', served: JSON.stringify(groups[2]) });
    // A worker that is new is known before the first decision for it.
    const [worker] = makeCatalogue().groups[0]?.workers ?? [];
    if (worker === undefined) throw new Error('there is one');
    crew.show({
      ...SERVED,
      catalogue: makeCatalogue({ workers: [{ ...worker, target: 'w-2:50061', baseUrl: 'http://w-2:8000' }] }),
    });
    await settled();
    expect(member?.told('served')).toHaveLength(2);
    member?.say(ROUTE);
    await settled();
    expect(member?.orders.slice(-2).map(({ type }) => type)).toEqual(['served', 'routed']);
  });

  it('count together on one page, and what one has counted stays when it ends', async () => {
    const { members, registry, clock } = await started();
    const scrape = async (counts: readonly (number | undefined)[]): Promise<string> => {
      const page = MetricsPage.of(registry).answer(undefined);
      await settled();
      for (const [at, count] of counts.entries()) {
        const order = members[at]?.told('ask_metrics').at(-1);
        if (order?.type !== 'ask_metrics' || count === undefined) continue;
        const own = new Registry();
        new Counter({ name: 'kv_accord_frontend_requests_total', help: 'Requests.', registers: [own] }).inc(
          count,
        );
        members[at]?.say({ type: 'metrics', id: order.id, metrics: await snapshotOf(own) });
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
    members[1]?.say({ type: 'ask_page', id: 1, accept: '' });
    await clock.advanceMs(2_000);
    await settled();
    expect(members[1]?.told('page')).toMatchObject([
      { answer: { status: 200, body: expect.stringContaining('requests_total 11') } },
    ]);
  });

  it('no longer count for a group that has left, neither those that run nor those that have ended', async () => {
    const { crew, members, registry, clock } = await started();
    const own = new Registry();
    const counter = new Counter({
      name: 'kv_accord_frontend_requests_total',
      help: 'Requests.',
      labelNames: ['group'],
      registers: [own],
    });
    for (const group of ['tiny', 'other', '']) counter.inc({ group });
    const metrics = await snapshotOf(own);
    for (const member of members.slice(0, 2)) member.say({ type: 'metrics', id: 1, metrics });
    members[0]?.end();
    const scrape = async (): Promise<string> => {
      const page = MetricsPage.of(registry).answer(undefined);
      await settled();
      await clock.advanceMs(2_000);
      return (await page).body;
    };
    expect(await scrape()).toMatch(/requests_total\{group="tiny"\} 2/);
    expect(await scrape()).not.toContain('group="other"');
    crew.show({ catalogue: { models: [], groups: [], reasons: [] }, checks: [] });
    const text = await scrape();
    expect(text).not.toContain('group="tiny"');
    expect(text).toMatch(/requests_total\{group=""\} 2/);
    crew.show(SERVED);
    // What has ended does not come back; who runs tells what it still counts.
    expect(await scrape()).toMatch(/requests_total\{group="tiny"\} 1/);
  });

  it('that have no requests yet are ended at once', async () => {
    const { crew, members, clock } = makeCrew();
    void crew.start();
    members[0]?.say({ type: 'hello' });
    await settled();
    await crew.stop();
    expect(members.map(({ isKilled }) => isKilled)).toEqual([true, true]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('are let end in order, and ended when that takes too long', async () => {
    const { crew, members, clock, logger } = await started();
    const stop = crew.stop();
    await settled();
    expect(members.map((member) => member.told('drain').length)).toEqual([1, 1]);
    members[0]?.end('ended with code 0');
    await clock.advanceMs(25_000);
    members[1]?.say({ type: 'metrics', id: 0, metrics: [] });
    expect(members[1]?.isKilled).toBe(false);
    await clock.advanceMs(10_000);
    await stop;
    expect(members.map(({ isKilled }) => isKilled)).toEqual([false, true]);
    expect(logger.messages('error')).toEqual([]);
    expect(members).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });
});
