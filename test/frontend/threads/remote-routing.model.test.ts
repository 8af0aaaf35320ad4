import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Decision,
  type Route,
  type RouteRequest,
  type Routing,
  RoutingError,
} from '../../../src/fleet/router/routing.js';
import { OpenAiError } from '../../../src/frontend/gateway/openai-error.js';
import type { RouteAnswer, RouteMessage } from '../../../src/frontend/threads/messages.js';
import { Outbox } from '../../../src/frontend/threads/outbox.js';
import { readThreadMessages } from '../../../src/frontend/threads/read-messages.js';
import { RemoteRouting, ROUTE_TIMEOUT_MS } from '../../../src/frontend/threads/remote-routing.js';
import { RoutingHost } from '../../../src/frontend/threads/routing-host.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const MAX_WAITING = 4;

/** After which also what has no haste is sent. */
const PAUSE_MS = 5;

const REQUEST: RouteRequest = {
  group: 'tiny',
  tokens: new Uint32Array([1, 2, 3]),
  loraName: '',
  cacheSalt: '',
  excluded: [],
};

const DECISION: Decision = {
  group: 'tiny',
  target: 'w-1',
  workerId: 'w-1',
  instanceId: 'w-1-1',
  rank: 0,
  rankCount: 1,
  epoch: 1,
  tokensPerBlock: 32,
  promptTokens: 3,
  promptBlocks: 1,
  cachedBlocks: 0,
  isExact: true,
  routingMode: 'exact',
};

/** A router that decides when it is told to, and knows what is reserved. */
class HeldRouting implements Routing {
  readonly waiting: { decide(): void; refuse(): void }[] = [];
  /** How often each reservation was released. */
  readonly releases: number[] = [];

  get reserved(): number {
    return this.releases.filter((count) => count === 0).length;
  }

  route(): Promise<Route> {
    return new Promise((resolve, reject) => {
      this.waiting.push({
        refuse: () => reject(new RoutingError('no_worker', 'nobody')),
        decide: () => {
          const at = this.releases.push(0) - 1;
          resolve({
            decision: DECISION,
            prefillDone: () => expect(this.releases[at]).toBe(0),
            progress: () => expect(this.releases[at]).toBe(0),
            release: () => {
              this.releases[at] = (this.releases[at] ?? 0) + 1;
            },
          });
        },
      });
    });
  }
}

/** One life of a process that serves HTTP, and its host, over a channel that carries a batch when it is told to. */
class Life {
  readonly remote: RemoteRouting;
  readonly host: RoutingHost;
  readonly #outbox: Outbox<RouteMessage>;
  readonly #up: (() => void)[] = [];
  readonly #down: (() => void)[] = [];
  readonly #turns: (() => void)[] = [];
  #isOver = false;

  constructor(routing: Routing, clock: FakeClock) {
    const turns = {
      soon: (run: () => void) => {
        this.#turns.push(run);
        return { clear: () => {} };
      },
    };
    this.#outbox = new Outbox<RouteMessage>(
      {
        send: (batch, onWritten) =>
          this.#up.push(() => {
            // As it comes out on the other side, in a copy.
            const read = readThreadMessages(structuredClone(batch)) as readonly RouteMessage[] | undefined;
            expect(read).toBeDefined();
            for (const message of read ?? []) expect(this.host.take(message)).toBe(true);
            onWritten();
          }),
      },
      { clock, turns },
    );
    const down = new Outbox<RouteAnswer>(
      {
        send: (batch, onWritten) =>
          this.#down.push(() => {
            for (const answer of structuredClone(batch) as RouteAnswer[]) this.remote.take(answer);
            onWritten();
          }),
      },
      { clock, turns },
    );
    this.remote = new RemoteRouting({ maxWaiting: MAX_WAITING }, { clock, outbox: this.#outbox });
    this.host = new RoutingHost(
      { maxRoutes: 2 * 64 },
      { routing, logger: new RecordingLogger(), answer: (answer) => down.post(answer) },
    );
  }

  turn(): void {
    if (!this.#isOver) this.#turns.shift()?.();
  }

  carry(way: 'up' | 'down'): void {
    if (!this.#isOver) (way === 'up' ? this.#up : this.#down).shift()?.();
  }

  /** Whether something is still on its way. */
  get isBusy(): boolean {
    const onTheWay = this.#turns.length + this.#up.length + this.#down.length;
    return !this.#isOver && onTheWay + this.#outbox.backlog > 0;
  }

  /** The process dies: what it was about to say is never heard. */
  die(): void {
    this.#isOver = true;
    this.host.close();
    this.remote.close();
  }
}

type Step =
  | { readonly do: 'ask' | 'turn' | 'up' | 'down' | 'decide' | 'refuse' | 'pause' | 'wait' | 'die' }
  | { readonly do: 'use' | 'release'; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('ask', 'turn', 'up', 'down', 'decide', 'turn') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('refuse', 'pause', 'wait', 'die') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('use', 'release'), at: fc.nat(20) }) },
) as fc.Arbitrary<Step>;

/** Lets everything happen that follows from what has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('routes that are decided in another process', () => {
  it('are released exactly once and never left waiting, whatever dies and whenever', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const clock = new FakeClock();
        const routing = new HeldRouting();
        let life = new Life(routing, clock);
        let asked = 0;
        let answered = 0;
        let open: Route[] = [];
        const ask = (): void => {
          asked += 1;
          const its = life;
          life.remote.route(REQUEST).then(
            (route) => {
              answered += 1;
              // What a dead process had is its own no longer.
              if (its === life) open.push(route);
            },
            (error: unknown) => {
              answered += 1;
              expect(error instanceof RoutingError || error instanceof OpenAiError).toBe(true);
            },
          );
        };
        for (const one of steps) {
          switch (one.do) {
            case 'ask':
              ask();
              break;
            case 'turn':
              life.turn();
              break;
            case 'up':
            case 'down':
              life.carry(one.do);
              break;
            case 'decide':
            case 'refuse':
              routing.waiting.shift()?.[one.do]();
              break;
            case 'pause':
              await clock.advanceMs(PAUSE_MS);
              break;
            case 'wait':
              await clock.advanceMs(ROUTE_TIMEOUT_MS);
              break;
            case 'die':
              life.die();
              open = [];
              await settled();
              // Whoever is decided about now is not reserved for anybody.
              expect(routing.reserved).toBe(0);
              life = new Life(routing, clock);
              break;
            case 'use': {
              const route = open[one.at % Math.max(1, open.length)];
              route?.prefillDone();
              route?.progress(one.at);
              break;
            }
            case 'release': {
              const [route] = open.splice(one.at % Math.max(1, open.length), 1);
              route?.release(one.at % 2 === 0 ? { promptTokens: 3, cachedTokens: undefined } : undefined);
              route?.release();
              break;
            }
          }
          await settled();
        }
        // To the end: all is carried, decided and released.
        while (life.isBusy || routing.waiting.length > 0 || open.length > 0) {
          await clock.advanceMs(PAUSE_MS);
          life.turn();
          life.carry('up');
          routing.waiting.shift()?.decide();
          await settled();
          life.carry('down');
          await settled();
          for (const route of open.splice(0)) route.release();
        }
        expect(answered).toBe(asked);
        expect(routing.releases.every((count) => count === 1)).toBe(true);
        expect(life.host.open).toBe(0);
        life.die();
        await clock.advanceMs(PAUSE_MS);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('are refused with 503 when nothing is heard for 10 s, and a decision that comes late is given back', async () => {
    const clock = new FakeClock();
    const sent: RouteMessage[] = [];
    const post = (message: RouteMessage): void => void sent.push(message);
    const outbox = { post, postWithoutHaste: post, backlog: 0 };
    const remote = new RemoteRouting({ maxWaiting: 2 }, { clock, outbox });
    const asked = Promise.allSettled([remote.route(REQUEST), remote.route(REQUEST)]);
    await expect(remote.route(REQUEST)).rejects.toMatchObject({ status: 503, code: 'overloaded' });
    await clock.advanceMs(ROUTE_TIMEOUT_MS);
    const unanswered = { status: 'rejected', reason: { status: 503, code: 'router_unavailable' } };
    expect(await asked).toMatchObject([unanswered, unanswered]);
    // What may still be reserved there counts, so that a router that stands still is not asked for ever.
    await expect(remote.route(REQUEST)).rejects.toMatchObject({ code: 'overloaded' });
    remote.take({ type: 'routed', id: 1, decision: DECISION });
    remote.take({ type: 'not_routed', id: 2, code: 'no_worker', message: 'nobody', reasons: [] });
    expect(sent.map(({ type, id }) => `${type} ${id}`)).toEqual(['route 1', 'route 2', 'release 1']);
    const third = remote.route(REQUEST);
    remote.take({ type: 'routed', id: 3, decision: DECISION });
    expect((await third).decision).toEqual(DECISION);
    remote.close();
    await expect(remote.route(REQUEST)).rejects.toMatchObject({ code: 'router_unavailable' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('tell the reasons of the gate as they are, and no word of what went wrong inside', async () => {
    const logger = new RecordingLogger();
    const errors = [
      new RoutingError('gate_shut', 'shut', [{ code: 'settling', text: 'wait' }]),
      new Error('secret'),
    ];
    const answers: RouteAnswer[] = [];
    const host = new RoutingHost(
      { maxRoutes: 8 },
      {
        logger,
        routing: { route: () => Promise.reject(errors.shift() as Error) },
        answer: (answer) => void answers.push(answer),
      },
    );
    host.take({ type: 'route', id: 1, request: REQUEST });
    host.take({ type: 'route', id: 2, request: REQUEST });
    await settled();
    expect(answers).toEqual([
      {
        type: 'not_routed',
        id: 1,
        code: 'gate_shut',
        message: 'shut',
        reasons: [{ code: 'settling', text: 'wait' }],
      },
      { type: 'failed', id: 2 },
    ]);
    expect(logger.messages('error')).toEqual(['No worker could be chosen for a request']);
    expect(host.open).toBe(0);
    const remote = new RemoteRouting(
      { maxWaiting: 2 },
      { clock: new FakeClock(), outbox: { post: () => {}, postWithoutHaste: () => {}, backlog: 0 } },
    );
    const [refused, failed] = [remote.route(REQUEST), remote.route(REQUEST)];
    for (const answer of answers) remote.take(answer);
    await expect(refused).rejects.toMatchObject({
      code: 'gate_shut',
      reasons: [{ code: 'settling', text: 'wait' }],
    });
    await expect(failed).rejects.toMatchObject({ status: 500 });
    remote.close();
  });

  it('are no more than they may be, and each has a number of its own', () => {
    const host = new RoutingHost(
      { maxRoutes: 1 },
      { logger: new RecordingLogger(), routing: new HeldRouting(), answer: () => {} },
    );
    expect(host.take({ type: 'release', id: 1, usage: undefined })).toBe(false);
    expect(host.take({ type: 'route', id: 1, request: REQUEST })).toBe(true);
    expect(host.take({ type: 'route', id: 1, request: REQUEST })).toBe(false);
    expect(host.take({ type: 'route', id: 2, request: REQUEST })).toBe(false);
    // Nobody can release what nobody was told of.
    expect(host.take({ type: 'release', id: 1, usage: undefined })).toBe(false);
    host.close();
    expect(host.take({ type: 'prefill_done', id: 7 })).toBe(true);
  });
});
