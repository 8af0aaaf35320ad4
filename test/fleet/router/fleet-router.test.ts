import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import type { AgreementEvent } from '../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import { FleetIndexing, type FleetIndexingModules } from '../../../src/fleet/indexer/fleet-indexing.js';
import {
  FleetRouter,
  type FleetRouterModules,
  type FleetRouterOptions,
} from '../../../src/fleet/router/fleet-router.js';
import type { Route, RouteRequest, RoutingError } from '../../../src/fleet/router/routing.js';
import { FakeClock } from '../../support/fake-clock.js';
import { makeReport, type ReportSketch, TestFleet } from '../../support/fleet.js';
import { RecordingLogger } from '../../support/recording-logger.js';

interface Sketch {
  readonly agreement?: Partial<AgreementOptions>;
  readonly routing?: Partial<FleetRouterOptions>;
  readonly isReachable?: FleetRouterModules['isReachable'];
  /** Whether the router hears of everything before the index does. */
  readonly routerFirst?: boolean;
  readonly maxIndexBytes?: number;
}

/** A router and its index over a fleet that a test drives by hand. The index guesses by what was sent where. */
class RoutedFleet {
  readonly fleet: TestFleet;
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  readonly registry = new Registry();
  readonly indexing: FleetIndexing;
  readonly routing: FleetRouter;
  readonly #parts: readonly (FleetIndexing | FleetRouter)[];

  constructor({ agreement, routing, isReachable, routerFirst = false, maxIndexBytes }: Sketch = {}) {
    this.fleet = new TestFleet({ isStaticDiscovery: true, kvEvents: 'approximate', ...agreement });
    const { clock, logger, registry } = this;
    const random = { fraction: () => 0.5, uniqueId: () => 'id' };
    const edge = {} as FleetIndexingModules['edge'];
    this.indexing = new FleetIndexing(
      maxIndexBytes === undefined
        ? { approximate: { ttlMs: 120_000, maxBlocks: 10_000, pruneTargetRatio: 0.8 } }
        : { maxBytes: maxIndexBytes },
      {
        clock,
        logger,
        registry,
        random,
        edge,
        turns: { soon: (run) => clock.setTimer(0, run) },
        fleet: {
          view: this.fleet.view(),
          reportOf: () => undefined,
          reported: () => true,
          cacheViewChanged: () => undefined,
          mismatchedEvents: () => undefined,
        },
      },
    );
    const { fleet } = this;
    this.routing = new FleetRouter(
      {
        mode: 'kv',
        temperature: 0,
        weights: { overlapScoreWeight: 1, hostCacheHitWeight: 0.75, diskCacheHitWeight: 0.25 },
        decisionLog: 'none',
        ...routing,
      },
      {
        clock,
        logger,
        registry,
        random,
        edge,
        indexes: this.indexing,
        fleet: {
          get view() {
            return fleet.view();
          },
          doubted: () => undefined,
          ejected: (target, reason) => this.do({ type: 'ejection', target, reason }),
        },
        ...(isReachable === undefined ? {} : { isReachable }),
      },
    );
    this.#parts = routerFirst ? [this.routing, this.indexing] : [this.indexing, this.routing];
  }

  do(event: AgreementEvent): void {
    for (const effect of this.fleet.do(event)) for (const part of this.#parts) part.onEffect(effect);
    const view = this.fleet.view();
    for (const part of this.#parts) part.onView(view);
  }

  list(...targets: string[]): void {
    this.do({ type: 'listed', members: targets.map((target) => ({ target, draining: false })) });
  }

  report(target: string, sketch: ReportSketch = {}): void {
    this.do({ type: 'report', target, report: makeReport(target, sketch) });
  }

  /** A fleet whose workers agree on `size`. */
  agreeOn(size: number, ...targets: string[]): this {
    this.list(...targets);
    for (const target of targets) this.report(target, { size });
    return this;
  }

  async metrics(): Promise<string> {
    return this.registry.metrics();
  }
}

const fleets: RoutedFleet[] = [];
afterEach(async () => {
  for (const { routing, indexing, clock } of fleets.splice(0)) {
    await routing.close();
    await indexing.close();
    expect(clock.pendingTimers).toBe(0);
  }
});

function make(sketch: Sketch = {}): RoutedFleet {
  const made = new RoutedFleet(sketch);
  fleets.push(made);
  return made;
}

/** A request for `count` tokens that begin with `first`. */
function request(
  count: number | undefined,
  sketch: Partial<RouteRequest> & { readonly first?: number } = {},
): RouteRequest {
  const { first = 0, ...rest } = sketch;
  return {
    group: 'tiny',
    tokens: count === undefined ? undefined : Uint32Array.from({ length: count }, (_, at) => first + at),
    loraName: '',
    cacheSalt: '',
    excluded: [],
    ...rest,
  };
}

async function refusal(routing: FleetRouter, asked: RouteRequest): Promise<RoutingError> {
  return routing.route(asked).then(
    () => {
      throw new Error('it was routed');
    },
    (error: RoutingError) => error,
  );
}

describe('before there is an agreement', () => {
  it('G1: routes nothing, and says why with the reasons of the gate', async () => {
    const made = make();
    expect(await refusal(made.routing, request(10))).toMatchObject({
      name: 'RoutingError',
      code: 'unknown_group',
      reasons: [{ code: 'no_workers' }],
    });
    made.list('w-1', 'w-2');
    made.report('w-1');
    expect(await refusal(made.routing, request(10))).toMatchObject({
      code: 'gate_shut',
      reasons: [{ code: 'waiting_for_workers' }],
    });
    made.report('w-2', { size: 16 });
    expect(await refusal(made.routing, request(10))).toMatchObject({
      code: 'gate_shut',
      reasons: [{ code: 'conflict' }],
    });
  });

  it('G2: routes nothing while the epoch has no index', async () => {
    const made = make({ maxIndexBytes: 1 }).agreeOn(32, 'w-1');
    expect(await refusal(made.routing, request(10))).toMatchObject({ code: 'no_index' });
  });
});

describe('a group whose gate is open', () => {
  it('sends a prompt where its beginning was sent before, and says what it knew', async () => {
    const { routing } = make().agreeOn(4, 'w-1', 'w-2', 'w-3');
    const first = await routing.route(request(9));
    first.release();
    const second = await routing.route(request(13));
    expect(second.decision).toEqual({
      group: 'tiny',
      target: first.decision.target,
      workerId: first.decision.workerId,
      instanceId: first.decision.instanceId,
      rank: 0,
      rankCount: 1,
      epoch: 1,
      tokensPerBlock: 4,
      promptTokens: 13,
      promptBlocks: 4,
      cachedBlocks: 2,
      isExact: false,
      routingMode: 'approximate',
    });
    second.release();
  });

  it('keeps prompts of another LoRA adapter or cache salt apart', async () => {
    const { routing } = make().agreeOn(4, 'w-1');
    (await routing.route(request(9, { loraName: 'a', cacheSalt: 's' }))).release();
    const cached = async (about: Partial<RouteRequest>): Promise<number> => {
      const route = await routing.route(request(9, about));
      route.release();
      return route.decision.cachedBlocks;
    };
    expect(await cached({ loraName: 'a' })).toBe(0);
    expect(await cached({ cacheSalt: 's' })).toBe(0);
    expect(await cached({ loraName: 'a', cacheSalt: 's' })).toBe(2);
  });

  it('sends a request for a LoRA adapter where it is loaded, and anywhere when nobody says that it is', async () => {
    const fleet = make({ routing: { mode: 'round-robin' } });
    const all = ['a', 'b', 'c'];
    fleet.list(...all);
    for (const target of all)
      fleet.report(target, { serving: { loraAdapters: target === 'b' ? ['french', 'dutch'] : ['dutch'] } });
    const chosen = async (loraName: string, count: number | undefined): Promise<Set<string>> => {
      const targets = new Set<string>();
      for (let turn = 0; turn < 6; turn += 1)
        targets.add((await fleet.routing.route(request(count, { loraName }))).decision.target);
      return targets;
    };
    for (const count of [100, undefined]) {
      expect(await chosen('french', count)).toEqual(new Set(['b']));
      expect(await chosen('dutch', count)).toEqual(new Set(all));
      expect(await chosen('not reported', count)).toEqual(new Set(all));
    }
    const error = await refusal(fleet.routing, request(100, { loraName: 'french', excluded: ['b'] }));
    expect(error.code).toBe('no_worker');
    // As soon as the next one has loaded it, it gets such requests too.
    fleet.report('c', { revision: 2, serving: { loraAdapters: ['french'] } });
    expect(await chosen('french', 100)).toEqual(new Set(['b', 'c']));
  });

  it('spreads requests of which nothing is known by load, and counts them as such', async () => {
    const made = make().agreeOn(4, 'w-1', 'w-2');
    const routes = [
      await made.routing.route(request(undefined)),
      await made.routing.route(request(undefined)),
    ];
    expect(new Set(routes.map(({ decision }) => decision.target)).size).toBe(2);
    expect(routes[0]?.decision).toMatchObject({
      promptTokens: undefined,
      promptBlocks: 0,
      isExact: false,
      routingMode: 'load_only',
    });
    for (const route of routes) route.release();
    expect(await made.metrics()).toContain(
      'kv_accord_router_decisions_total{group="tiny",mode="load_only"} 2',
    );
  });

  it('goes in turn, and still knows how long prompts are', async () => {
    const { routing } = make({ routing: { mode: 'round-robin' } }).agreeOn(4, 'w-1', 'w-2', 'w-3');
    const targets: string[] = [];
    for (let count = 0; count < 6; count += 1) {
      const route = await routing.route(request(9));
      targets.push(route.decision.target);
      expect(route.decision).toMatchObject({ promptTokens: 9, promptBlocks: 3, routingMode: 'load_only' });
      route.release();
    }
    expect(new Set(targets.slice(0, 3)).size).toBe(3);
    expect(targets.slice(3)).toEqual(targets.slice(0, 3));
  });

  it('makes the same choices again with the same seed', async () => {
    const choices = async (seed: number): Promise<string[]> => {
      const { routing } = make({ routing: { mode: 'random', seed } }).agreeOn(4, 'w-1', 'w-2', 'w-3');
      const targets: string[] = [];
      for (let count = 0; count < 30; count += 1) {
        const route = await routing.route(request(9));
        targets.push(route.decision.target);
        route.release();
      }
      return targets;
    };
    expect(await choices(7)).toEqual(await choices(7));
    expect(await choices(7)).not.toEqual(await choices(8));
  });

  it('leaves out who failed before, and says so when nobody is left', async () => {
    const { routing } = make().agreeOn(4, 'w-1', 'w-2');
    const route = await routing.route(request(9, { excluded: ['w-1'] }));
    expect(route.decision.target).toBe('w-2');
    route.release();
    expect(await refusal(routing, request(9, { excluded: ['w-1', 'w-2'] }))).toMatchObject({
      code: 'no_worker',
      message: expect.stringContaining('w-1, w-2'),
    });
  });

  it.each<readonly [string, Partial<RouteRequest>]>([
    ['tokens', { tokens: new Uint32Array(4 * 1024 * 1024 + 1) }],
    ['a LoRA name', { loraName: 'x'.repeat(4_097) }],
    ['a cache salt', { cacheSalt: 'x'.repeat(4_097) }],
  ])('refuses %s beyond its bound', async (_, about) => {
    const { routing } = make().agreeOn(4, 'w-1');
    expect(await refusal(routing, request(9, about))).toMatchObject({ code: 'prompt_too_long' });
  });

  it('gives draining workers nothing new', async () => {
    const made = make().agreeOn(4, 'w-1', 'w-2');
    made.report('w-1', { size: 4, draining: true, revision: 2 });
    for (let count = 0; count < 5; count += 1)
      expect((await made.routing.route(request(9))).decision.target).toBe('w-2');
    made.report('w-2', { size: 4, draining: true, revision: 2 });
    expect(await refusal(made.routing, request(9))).toMatchObject({
      code: 'no_worker',
      reasons: [{ code: 'no_worker_offered' }],
    });
  });

  it('gives workers that only prefill or decode nothing, and says so once', async () => {
    const made = make();
    made.list('w-1', 'w-2', 'w-3');
    made.report('w-1', { serving: { role: 'prefill' } });
    made.report('w-2', { serving: { role: 'decode' } });
    made.report('w-3');
    made.report('w-3', { revision: 2, serving: { ranks: [0, 1] } });
    expect((await made.routing.route(request(9))).decision.target).toBe('w-3');
    expect(made.logger.messages('warn')).toEqual([
      'Workers of "tiny" serve only prefill or only decode, and get no requests: how their engines exchange KV blocks is not known, or is none of what this version speaks (NIXL of vLLM, the bootstrap server of SGLang): w-1, w-2.',
    ]);
  });

  it('gives workers without an address nothing, and says once what to do', async () => {
    const made = make({ isReachable: ({ target }) => target !== 'w-1' });
    made.agreeOn(32, 'w-1', 'w-2');
    made.report('w-2', { revision: 2, serving: { ranks: [0, 1] } });
    expect((await made.routing.route(request(9))).decision.target).toBe('w-2');
    expect(made.logger.messages('warn')).toEqual([
      expect.stringMatching(/^Workers of "tiny" get no requests: .*--engine.*: w-1\.$/),
    ]);
    made.list('w-1');
    expect(await refusal(made.routing, request(9))).toMatchObject({
      code: 'no_worker',
      message: expect.stringContaining('left out'),
    });
  });
});

/** `kv_accord_router_active_blocks` and `…_active_requests`. */
async function active(made: RoutedFleet): Promise<string> {
  const text = await made.metrics();
  const of = (name: string): string =>
    new RegExp(`kv_accord_router_active_${name}\\{group="tiny"\\} (\\S+)`).exec(text)?.[1] ?? '-';
  return `${of('blocks')} blocks, ${of('requests')} requests`;
}

describe('what is active', () => {
  it('ends with its request, however often that is said', async () => {
    const made = make().agreeOn(4, 'w-1');
    const route = await made.routing.route(request(9));
    expect(await active(made)).toBe('3 blocks, 1 requests');
    route.prefillDone();
    route.progress(8);
    expect(await active(made)).toBe('5 blocks, 1 requests');
    route.release();
    route.release();
    route.progress(100);
    expect(await active(made)).toBe('0 blocks, 0 requests');
  });

  it('has to be computed until the first token comes', async () => {
    const made = make().agreeOn(4, 'w-1');
    const prefilling = async (): Promise<string | undefined> =>
      /kv_accord_router_prefilling_tokens\{group="tiny"\} (\S+)/.exec(await made.metrics())?.[1];
    const route = await made.routing.route(request(9));
    expect(await prefilling()).toBe('9');
    route.prefillDone();
    expect(await prefilling()).toBe('0');
    route.release();
    expect(await made.metrics()).toContain('kv_accord_router_untracked_blocks_total{group="tiny"} 0');
    expect(await made.metrics()).toContain('kv_accord_router_candidates_left_out{group="tiny"} 0');
  });

  it('ends with its worker, and with each new start of its engine', async () => {
    const made = make().agreeOn(4, 'w-1', 'w-2');
    const routes: Route[] = [];
    for (let count = 0; count < 4; count += 1)
      routes.push(await made.routing.route(request(9, { first: 100 * count })));
    expect(await active(made)).toBe('12 blocks, 4 requests');
    made.report('w-1', { size: 4, instance: 'w-1-2' });
    expect(await active(made)).toBe('6 blocks, 2 requests');
    made.list('w-1');
    expect(await active(made)).toBe('0 blocks, 0 requests');
    for (const route of routes) {
      route.progress(10);
      route.release();
    }
    expect(await active(made)).toBe('0 blocks, 0 requests');
  });

  it('outlives a broken session for the grace time alone (G5)', async () => {
    const made = make({ agreement: { graceMs: 30_000 } }).agreeOn(4, 'w-1', 'w-2');
    await made.routing.route(request(9));
    await made.routing.route(request(9, { first: 100 }));
    for (const target of ['w-1', 'w-2']) made.do({ type: 'broken', target, reason: 'connection refused' });
    expect(await active(made)).toBe('6 blocks, 2 requests');
    made.fleet.nowMs += 30_001;
    made.do({ type: 'tick' });
    expect(await active(made)).toBe('0 blocks, 0 requests');
  });

  it('ends with its group, and its series with it', async () => {
    const made = make().agreeOn(4, 'w-1');
    const route = await made.routing.route(request(9));
    route.prefillDone();
    route.release({ promptTokens: 9, cachedTokens: 4 });
    const open = await made.routing.route(request(9));
    expect(await made.metrics()).toContain('kv_accord_router_cached_block_ratio_count{group="tiny"} 1');
    made.list();
    made.fleet.nowMs += 60_000;
    made.do({ type: 'tick' });
    expect(await made.metrics()).not.toContain('tiny');
    open.release({ promptTokens: 9, cachedTokens: 4 });
    expect(await made.metrics()).not.toContain('tiny');
    expect(await refusal(made.routing, request(9))).toMatchObject({ code: 'unknown_group' });
  });
});

describe.each([false, true])('a new epoch, the router informed first: %s', (routerFirst) => {
  it('A9: ends what is active, and is never decided by the old index', async () => {
    const made = make({ routerFirst, agreement: { settleMs: 0 } }).agreeOn(4, 'w-1', 'w-2', 'w-3');
    const before = await made.routing.route(request(64));
    expect(before.decision).toMatchObject({ epoch: 1, tokensPerBlock: 4 });
    made.report('w-1', { size: 8, instance: 'w-1-2' });
    made.report('w-2', { size: 8, instance: 'w-2-2' });
    made.fleet.nowMs += 1;
    made.do({ type: 'tick' });
    expect(made.fleet.group()).toMatchObject({ epoch: 2, gateOpen: true });
    expect(await active(made)).toBe('0 blocks, 0 requests');
    const after = await made.routing.route(request(64));
    expect(after.decision).toMatchObject({ epoch: 2, tokensPerBlock: 8, promptBlocks: 8, cachedBlocks: 0 });
    before.release({ promptTokens: 64, cachedTokens: 0 });
    expect(await active(made)).toBe('8 blocks, 1 requests');
    after.release();
    expect(await active(made)).toBe('0 blocks, 0 requests');
  });

  it('is not routed between the end of one epoch and the view of the next', async () => {
    const made = make({ routerFirst, agreement: { settleMs: 0 } }).agreeOn(4, 'w-1');
    const { routing, indexing, fleet } = made;
    const effects = fleet.do({
      type: 'report',
      target: 'w-1',
      report: makeReport('w-1', { size: 8, instance: 'w-1-2' }),
    });
    fleet.nowMs += 1;
    effects.push(...fleet.do({ type: 'tick' }));
    expect(effects.map(({ type }) => type)).toContain('epoch_started');
    for (const effect of effects) {
      for (const part of routerFirst ? [routing, indexing] : [indexing, routing]) {
        part.onEffect(effect);
        if (effect.type !== 'epoch_started' && effect.type !== 'epoch_ended') continue;
        const error = await refusal(routing, request(64));
        expect(['gate_shut', 'no_index']).toContain(error.code);
      }
    }
    routing.onView(fleet.view());
    expect((await routing.route(request(64))).decision).toMatchObject({ epoch: 2, tokensPerBlock: 8 });
  });
});

describe('what engines tell of their requests', () => {
  it('is the cached part of a prompt, and stands beside what was predicted', async () => {
    const made = make().agreeOn(4, 'w-1');
    (await made.routing.route(request(16))).release({ promptTokens: 16, cachedTokens: 0 });
    (await made.routing.route(request(20))).release({ promptTokens: 20, cachedTokens: 12 });
    const text = await made.metrics();
    expect(text).toContain('kv_accord_router_predicted_cached_tokens_total{group="tiny"} 16');
    expect(text).toContain('kv_accord_router_actual_cached_tokens_total{group="tiny"} 12');
    expect(text).toContain('kv_accord_router_cached_block_ratio_sum{group="tiny"} 0.6');
    expect(text).toContain('kv_accord_router_cached_block_ratio_count{group="tiny"} 2');
    expect(text).toContain('kv_accord_router_decision_seconds_count 2');
  });

  it('is predicted where they do not tell, of requests that came to a first token alone', async () => {
    const made = make().agreeOn(4, 'w-1');
    (await made.routing.route(request(16))).release();
    const answered = await made.routing.route(request(20));
    answered.prefillDone();
    answered.release({ promptTokens: 20, cachedTokens: undefined });
    const text = await made.metrics();
    expect(text).toContain('kv_accord_router_actual_cached_tokens_total{group="tiny"} 0');
    expect(text).toContain('kv_accord_router_cached_block_ratio_sum{group="tiny"} 0.8');
    expect(text).toContain('kv_accord_router_cached_block_ratio_count{group="tiny"} 1');
  });

  it('does no harm where it makes no sense', async () => {
    const made = make().agreeOn(4, 'w-1');
    for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300, Number.MAX_SAFE_INTEGER]) {
      const usage = { promptTokens: wrong, cachedTokens: wrong };
      (await made.routing.route(request(16))).release(usage);
      (await made.routing.route(request(16))).release({ ...usage, promptTokens: 16 });
      (await made.routing.route(request(16))).release({ ...usage, cachedTokens: 0 });
    }
    const text = await made.metrics();
    expect(text).toContain('kv_accord_router_actual_cached_tokens_total{group="tiny"} 0');
    expect(text).not.toMatch(/kv_accord_router\S* (NaN|Inf|-)/i);
  });
});

describe('the traffic of a worker', () => {
  it('is its decisions, its load now, its tokens and the time to its first tokens', async () => {
    const made = make().agreeOn(4, 'a', 'b');
    const route = await made.routing.route(request(9, { excluded: ['b'] }));
    const of = (name: string, more = ''): RegExp =>
      new RegExp(`kv_accord_router_worker_${name}\\{[^}]*worker="a"${more}\\} (\\S+)\n`);
    const read = async (name: string): Promise<number> => Number(of(name).exec(await made.metrics())?.[1]);
    expect(await read('decisions_total')).toBe(1);
    expect(await read('active_requests')).toBe(1);
    expect(await read('active_blocks')).toBe(3);
    await made.clock.advanceMs(250);
    route.prefillDone();
    route.release({ promptTokens: 9, cachedTokens: 0, outputTokens: 5 });
    expect(await read('active_requests')).toBe(0);
    expect(await read('first_tokens_total')).toBe(1);
    expect(await read('first_token_seconds_total')).toBe(0.25);
    expect(await read('prompt_tokens_total')).toBe(9);
    expect(await read('output_tokens_total')).toBe(5);
    route.failed({ kind: 'cut', detail: '' });
    expect(await made.metrics()).toMatch(of('failed_requests_total', ',seen="cut"'));
  });
});

describe('the log of a router', () => {
  it('says who was chosen at info, and what each would cost at debug', async () => {
    const made = make({ routing: { decisionLog: 'candidates' } }).agreeOn(4, 'w-1', 'w-2');
    (await made.routing.route(request(9))).release();
    expect(made.logger.messages('debug')).toEqual([
      'Formula for w-1: 5.3 = 1.0 * 2.3 + 3.0 (cached_blocks: 0)',
      'Formula for w-2: 5.3 = 1.0 * 2.3 + 3.0 (cached_blocks: 0)',
    ]);
    expect(made.logger.messages('info')).toEqual([
      expect.stringMatching(
        /^Selected worker: w-[12] \(cached_blocks: 0 of 3, mode: kv, approximate, logit: 5\.3\)$/,
      ),
    ]);
  });
});

describe('a worker whose requests fail', () => {
  const unreachable = { kind: 'unreachable', detail: 'connect ECONNREFUSED 10.0.0.1:8000' } as const;
  const targetOf = ({ decision }: Route): string => decision.target;

  /** Sends requests until one goes to `target`; the others are over immediately. */
  async function routeTo(fleet: RoutedFleet, target: string): Promise<Route> {
    for (let tries = 0; tries < 50; tries += 1) {
      const route = await fleet.routing.route(request(undefined));
      if (targetOf(route) === target) return route;
      route.release();
    }
    throw new Error(`no request went to ${target}`);
  }

  async function eject(fleet: RoutedFleet, target: string): Promise<void> {
    const excluded = ['a', 'b'].filter((other) => other !== target);
    for (let at = 0; at < 3; at += 1) {
      const route = await fleet.routing.route(request(undefined, { excluded }));
      route.failed(unreachable);
      route.release();
    }
  }

  const round = { routing: { mode: 'round-robin' } } as const;

  it('is ejected: one WARN names it, its series and its member show it, and others get its requests', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    expect(fleet.logger.messages('warn')).toEqual([
      'Worker a is ejected: 3 failed requests, the last time it could not be reached (connect ECONNREFUSED 10.0.0.1:8000); ejected for 5 s.',
    ]);
    for (let at = 0; at < 6; at += 1)
      expect(targetOf(await fleet.routing.route(request(undefined)))).toBe('b');
    expect(fleet.fleet.member('a')).toMatchObject({
      state: 'conforming',
      offer: 'full',
      ejectedReason: expect.stringContaining('could not be reached'),
    });
    const metrics = await fleet.metrics();
    expect(metrics).toMatch(
      /kv_accord_router_worker_ejections_total\{group="tiny",worker_id="[^"]*",worker="a",seen="unreachable"\} 1/,
    );
    expect(metrics).toMatch(/kv_accord_router_worker_ejected\{group="tiny",worker_id="[^"]*",worker="a"\} 1/);
  });

  it('gets one try when its time is over, and its requests again when that is answered', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    await fleet.clock.advanceMs(5_000);
    const tried = await routeTo(fleet, 'a');
    expect(tried.decision.isTrial).toBe(true);
    expect(targetOf(await fleet.routing.route(request(undefined)))).toBe('b');
    tried.prefillDone();
    expect(fleet.logger.messages('info')).toContain('Worker a gets requests again: its try was answered.');
    expect(fleet.fleet.member('a')).toMatchObject({ ejectedReason: '' });
    expect(await fleet.metrics()).toMatch(/worker_ejected\{[^}]*worker="a"\} 0/);
  });

  it('is not shown as ejected any longer when it is not offered, and begins with no failures when it is again', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    const offered = (draining: boolean): void =>
      fleet.do({
        type: 'listed',
        members: ['a', 'b'].map((target) => ({ target, draining: draining && target === 'a' })),
      });
    offered(true);
    expect(fleet.fleet.member('a')).toMatchObject({ state: 'draining', ejectedReason: '' });
    expect(await fleet.metrics()).toMatch(/worker_ejected\{[^}]*worker="a"\} 0/);
    expect(fleet.logger.messages('info')).toContain(
      'Worker a is not ejected any longer: it is not offered now, and begins with no failures when it is again.',
    );
    offered(false);
    expect((await routeTo(fleet, 'a')).decision.isTrial).not.toBe(true);
  });

  it('gets a request although its cache makes others cheaper, when its try is long due', async () => {
    const fleet = make().agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    const asked = request(640);
    (await fleet.routing.route(asked)).release();
    await fleet.clock.advanceMs(14_000);
    expect(targetOf(await fleet.routing.route(asked))).toBe('b');
    await fleet.clock.advanceMs(1_000);
    expect(targetOf(await fleet.routing.route(asked))).toBe('a');
  });

  it('is tried again by the next request where the first was cancelled', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    await fleet.clock.advanceMs(5_000);
    (await routeTo(fleet, 'a')).release();
    expect((await routeTo(fleet, 'a')).decision.isTrial).toBe(true);
  });

  it('is asked all the same where nobody else can serve a request', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    expect(targetOf(await fleet.routing.route(request(undefined, { excluded: ['b'] })))).toBe('a');
  });

  it('is never the last of its model, and gets its requests back when it is left alone', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    for (let at = 0; at < 9; at += 1) {
      const route = await routeTo(fleet, 'b');
      route.failed(unreachable);
      route.release();
    }
    expect(fleet.logger.messages('warn')).toHaveLength(1);
    fleet.list('a');
    expect(fleet.logger.messages('info')).toContain(
      'Worker a gets requests again: no other worker of its model gets requests.',
    );
    expect(targetOf(await fleet.routing.route(request(undefined)))).toBe('a');
  });

  it('is forgotten with its group, and its series with it', async () => {
    const fleet = make(round).agreeOn(32, 'a', 'b');
    await eject(fleet, 'a');
    fleet.list();
    expect(await fleet.metrics()).not.toContain('worker="a"');
  });
});
