import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RpcError } from '../../../src/edge/rpc/errors.js';
import type { ActiveRoute } from '../../../src/fleet/router/active-route.js';
import { type Route, type RouteRequest, RoutingError } from '../../../src/fleet/router/routing.js';
import { AttachedClient } from '../../../src/fleet/router/service/attached-client.js';
import { Reservations } from '../../../src/fleet/router/service/reservations.js';
import { toSelection } from '../../../src/fleet/router/service/selection-message.js';
import type { ServedBoard } from '../../../src/fleet/router/service/served-board.js';
import { OpenAiError } from '../../../src/frontend/errors/openai-error.js';
import { ROUTE_TIMEOUT_MS, RouteStream } from '../../../src/frontend/router-client/route-stream.js';
import { AttachRequest, AttachResponse, type ReserveRequest } from '../../../src/gen/kvaccord/v1/router.js';
import { anyDecision } from '../../support/any-decision.js';
import { FakeClock } from '../../support/fake-clock.js';
import { turns } from '../../support/turns.js';

const MAX_WAITING = 4;

/** After which also what nobody waits for is sent. */
const PAUSE_MS = 5;

const REQUEST: RouteRequest = {
  group: 'tiny',
  tokens: new Uint32Array([1, 2, 3]),
  loraName: '',
  cacheSalt: '',
  excluded: [],
};

const DECISION = anyDecision({ promptTokens: 3, promptBlocks: 1, cachedBlocks: 0 });

/** A router that decides or refuses as it is set, and knows what is reserved. */
class FakeRouter {
  readonly clock: FakeClock;
  readonly reservations: Reservations;
  refusal: Error | undefined;
  readonly asked: ReserveRequest[] = [];
  /** How often each reservation was released. */
  readonly releases: number[] = [];

  constructor(clock: FakeClock) {
    this.clock = clock;
    this.reservations = new Reservations({}, { clock, random: { fraction: () => 0, uniqueId: () => '' } });
  }

  get reserved(): number {
    return this.releases.filter((count) => count === 0).length;
  }

  reserve(request: ReserveRequest): ActiveRoute {
    this.asked.push(request);
    if (this.refusal !== undefined) throw this.refusal;
    const at = this.releases.push(0) - 1;
    const route = {
      decision: DECISION,
      onEnded: () => {},
      prefillDone: () => expect(this.releases[at]).toBe(0),
      progress: () => expect(this.releases[at]).toBe(0),
      release: () => {
        this.releases[at] = (this.releases[at] ?? 0) + 1;
        route.onEnded();
      },
    };
    return route as unknown as ActiveRoute;
  }
}

const NOTHING_SERVED = {
  parts: [],
  watch: () => () => {},
  prepareFor: () => {},
} as unknown as ServedBoard;

/** One stream with its two ends, which carries a message on request. */
class Life {
  readonly client: RouteStream;
  readonly host: AttachedClient;
  readonly #gone = new AbortController();
  readonly #up: (() => void)[] = [];
  readonly #down: (() => void)[] = [];
  readonly #turns: (() => void)[] = [];

  constructor(router: FakeRouter, clock: FakeClock) {
    this.client = new RouteStream(
      { maxWaiting: MAX_WAITING },
      {
        clock,
        eventLoop: {
          soon: (run) => {
            this.#turns.push(run);
            return { clear: () => {} };
          },
        },
        send: (request, onWritten) => {
          // As it goes over the wire.
          const bytes = AttachRequest.encode(request).finish();
          this.#up.push(() => {
            this.host.take(AttachRequest.decode(bytes));
            onWritten();
          });
        },
      },
    );
    const stream = {
      signal: this.#gone.signal,
      isOpen: true,
      write: (response: AttachResponse) =>
        new Promise<void>((taken) => {
          const bytes = AttachResponse.encode(response).finish();
          this.#down.push(() => {
            for (const answer of AttachResponse.decode(bytes).answers) this.client.take(answer);
            taken();
          });
        }),
    };
    this.host = new AttachedClient(stream as unknown as ConstructorParameters<typeof AttachedClient>[0], {
      board: NOTHING_SERVED,
      reservations: router.reservations,
      reserve: (request) => router.reserve(request),
      failed: () => undefined,
      explainFault: () => 'internal error',
    });
  }

  turn(): void {
    this.#turns.shift()?.();
  }

  carry(way: 'up' | 'down'): void {
    if (!this.#gone.signal.aborted) (way === 'up' ? this.#up : this.#down).shift()?.();
  }

  /** Whether something is still on its way. */
  get isBusy(): boolean {
    return this.#turns.length + this.#up.length + this.#down.length > 0;
  }

  /** The client's process dies: what it was about to send never arrives. */
  die(): void {
    this.#gone.abort();
    this.client.close();
  }
}

type Step =
  | { readonly do: 'ask' | 'turn' | 'up' | 'down' | 'refuse' | 'pause' | 'wait' | 'die' }
  | { readonly do: 'use' | 'release'; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constantFrom('ask', 'turn', 'up', 'down', 'turn') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('refuse', 'pause', 'wait', 'die') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('use', 'release'), at: fc.nat(20) }) },
) as fc.Arbitrary<Step>;

describe('routes that another process decides', () => {
  it('are released exactly once and never left waiting, whenever a process dies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
        const clock = new FakeClock();
        const router = new FakeRouter(clock);
        let life = new Life(router, clock);
        let asked = 0;
        let answered = 0;
        let open: Route[] = [];
        const ask = (): void => {
          asked += 1;
          const its = life;
          life.client.route(REQUEST).then(
            (route) => {
              answered += 1;
              // The routes of a dead process were released with it.
              if (its === life) open.push(route);
            },
            (error: unknown) => {
              answered += 1;
              expect(error instanceof RoutingError || error instanceof OpenAiError).toBe(true);
            },
          );
        };
        for (const one of steps) {
          router.refusal = undefined;
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
            case 'refuse':
              router.refusal = new RoutingError('no_worker', 'nobody');
              life.carry('up');
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
              await turns();
              expect(router.reserved).toBe(0);
              life = new Life(router, clock);
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
          await turns();
        }
        // To the end: all is carried, decided and released.
        router.refusal = undefined;
        do {
          await clock.advanceMs(PAUSE_MS);
          life.turn();
          life.carry('up');
          await turns();
          life.carry('down');
          await turns();
          for (const route of open.splice(0)) route.release();
          await clock.advanceMs(PAUSE_MS);
        } while (life.isBusy);
        expect(answered).toBe(asked);
        expect(router.releases.every((count) => count === 1)).toBe(true);
        life.die();
        await clock.advanceMs(PAUSE_MS);
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('are refused with 503 when nothing is heard for 10 s, and a decision that comes late is given back', async () => {
    const clock = new FakeClock();
    const sent: string[] = [];
    const client = new RouteStream(
      { maxWaiting: 2 },
      {
        clock,
        eventLoop: {
          soon: (run) => {
            run();
            return { clear: () => {} };
          },
        },
        send: ({ events }, onWritten) => {
          sent.push(...events.map(({ event, routeId }) => `${event?.$case} ${routeId}`));
          onWritten();
        },
      },
    );
    const asked = Promise.allSettled([client.route(REQUEST), client.route(REQUEST)]);
    await expect(client.route(REQUEST)).rejects.toMatchObject({ status: 503, code: 'overloaded' });
    await clock.advanceMs(ROUTE_TIMEOUT_MS);
    const unanswered = { status: 'rejected', reason: { status: 503, code: 'router_unavailable' } };
    expect(await asked).toMatchObject([unanswered, unanswered]);
    // What may still be reserved there counts, so that a router that hangs is not asked for ever.
    await expect(client.route(REQUEST)).rejects.toMatchObject({ code: 'overloaded' });
    const selection = { $case: 'selection' as const, value: toSelection(DECISION) };
    client.take({ routeId: 1, answer: selection });
    client.take({
      routeId: 2,
      answer: { $case: 'notRouted', value: { code: 'no_worker', message: 'nobody', reasons: [] } },
    });
    await clock.advanceMs(PAUSE_MS);
    expect(sent).toEqual(['reserve 1', 'reserve 2', 'release 1']);
    const third = client.route(REQUEST);
    client.take({ routeId: 3, answer: selection });
    expect((await third).decision).toEqual(DECISION);
    client.close();
    await expect(client.route(REQUEST)).rejects.toMatchObject({ code: 'router_unavailable' });
    expect(clock.pendingTimers).toBe(0);
  });

  it('carry the reasons of the gate as they are, and nothing of what went wrong inside', async () => {
    const clock = new FakeClock();
    const router = new FakeRouter(clock);
    const life = new Life(router, clock);
    const ask = async (refusal: Error): Promise<unknown> => {
      router.refusal = refusal;
      const asked = life.client.route(REQUEST).catch((error: unknown) => error);
      life.turn();
      life.carry('up');
      // What is served comes first, in a message of its own.
      life.carry('down');
      await turns();
      life.carry('down');
      return asked;
    };
    expect(
      await ask(new RoutingError('gate_shut', 'shut', [{ code: 'settling', text: 'wait' }])),
    ).toMatchObject({
      code: 'gate_shut',
      reasons: [{ code: 'settling', text: 'wait' }],
    });
    const failed = await ask(new Error('secret'));
    expect(failed).toMatchObject({ status: 500 });
    expect(String((failed as OpenAiError).body)).not.toContain('secret');
    life.die();
  });

  it('are asked for with everything that decides: tokens, adapter, salt, cache use and excluded workers', async () => {
    const clock = new FakeClock();
    const router = new FakeRouter(clock);
    const life = new Life(router, clock);
    const ask = (request: Partial<RouteRequest>): ReserveRequest | undefined => {
      void life.client.route({ ...REQUEST, ...request }).catch(() => undefined);
      life.turn();
      life.carry('up');
      life.carry('down');
      return router.asked.at(-1);
    };
    expect(ask({ loraName: 'a', cacheSalt: 's', cacheUse: 'unread', excluded: ['w-2'] })).toMatchObject({
      group: 'tiny',
      prompt: {
        form: { $case: 'packedTokenIds', value: Buffer.from([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]) },
        loraName: 'a',
        cacheSalt: 's',
      },
      prefixCacheUnread: true,
      excludedTargets: ['w-2'],
    });
    expect(ask({ cacheUse: 'several' })).toMatchObject({ severalAnswers: true });
    // More ids than a message holds: load alone decides.
    expect(ask({ tokens: new Uint32Array(1024 * 1024) })?.prompt).toBeUndefined();
    life.die();
    expect(router.reserved).toBe(0);
  });

  it('end with a clear error for a client that breaks the rules', () => {
    const clock = new FakeClock();
    const router = new FakeRouter(clock);
    const life = new Life(router, clock);
    const reserve = { $case: 'reserve' as const, value: { group: 'tiny', excludedTargets: [] } } as never;
    const take = (...events: AttachRequest['events']) => life.host.take({ events, failures: [] });
    take({ routeId: 1, event: reserve });
    const broken: readonly AttachRequest['events'][] = [
      [{ routeId: 1, event: reserve }],
      [{ routeId: 2, event: { $case: 'release', value: {} } }],
      [{ routeId: 1, event: undefined }],
      Array.from({ length: 257 }, () => ({
        routeId: 1,
        event: { $case: 'outputTokens' as const, value: 1 },
      })),
    ];
    for (const events of broken) expect(() => take(...events)).toThrow(RpcError);
    life.die();
    expect(router.reserved).toBe(0);
  });
});
