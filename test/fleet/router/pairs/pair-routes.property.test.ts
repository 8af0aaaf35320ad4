import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { FleetIndexing, type FleetIndexingModules } from '../../../../src/fleet/indexer/fleet-indexing.js';
import { FleetRouter } from '../../../../src/fleet/router/fleet-router.js';
import { type Route, RoutingError } from '../../../../src/fleet/router/routing.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { makeReport, TestFleet } from '../../../support/fleet.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const SPLIT = { protocol: 'nixl', bootstrapAddresses: new Map(), bytesPerToken: 1_024 } as const;
const ROLES = {
  'p-1': 'prefill',
  'p-2': 'prefill',
  'd-1': 'decode',
  'd-2': 'decode',
  'w-1': 'aggregated',
} as const;
const TARGETS = Object.keys(ROLES) as (keyof typeof ROLES)[];

const which = fc.nat({ max: 9 });
const steps = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('route' as const),
      tokens: fc.nat({ max: 1_500 }),
      excluded: fc.subarray(TARGETS, { maxLength: 2 }),
      isUnsplit: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('prefilled' as const), which, cached: fc.nat({ max: 1_500 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('failed' as const), which, isPrefill: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('progress' as const), which, tokens: fc.nat({ max: 500 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('transferred' as const),
      which,
      tokens: fc.integer(),
      isLost: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('release' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('restart' as const), target: fc.constantFrom(...TARGETS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 5_000, 200_000) }),
  },
);
type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

class Story {
  readonly fleet = new TestFleet({ isStaticDiscovery: true, kvEvents: 'approximate' });
  readonly clock = new FakeClock();
  readonly registry = new Registry();
  readonly routes: Route[] = [];
  readonly #indexing: FleetIndexing;
  readonly #routing: FleetRouter;
  #view = this.fleet.view();
  #revision = 0;

  constructor() {
    const { clock, registry } = this;
    const logger = new RecordingLogger();
    const random = { fraction: () => 0.5, uniqueId: () => 'id' };
    const edge = {} as FleetIndexingModules['edge'];
    const view = () => this.#view;
    this.#indexing = new FleetIndexing(
      { approximate: { ttlMs: 120_000, maxBlocks: 400, pruneTargetRatio: 0.5 } },
      {
        ...{ clock, logger, registry, random, edge },
        turns: { soon: (run) => clock.setTimer(0, run) },
        fleet: {
          view: this.#view,
          reportOf: () => undefined,
          reported: () => true,
          cacheViewChanged: () => undefined,
          mismatchedEvents: () => undefined,
        },
      },
    );
    this.#routing = new FleetRouter(
      {
        mode: 'kv',
        temperature: 0,
        weights: { overlapScoreWeight: 1, hostCacheHitWeight: 0.75, diskCacheHitWeight: 0.25 },
        decisionLog: 'none',
      },
      {
        ...{ clock, registry, random, edge, logger },
        indexes: this.#indexing,
        fleet: {
          get view() {
            return view();
          },
          doubted: () => undefined,
          ejected: () => undefined,
        },
      },
    );
    this.fleet.do({ type: 'listed', members: TARGETS.map((target) => ({ target, draining: false })) });
    for (const target of TARGETS) this.report(target);
  }

  report(target: keyof typeof ROLES): void {
    this.#revision += 1;
    const role = ROLES[target];
    const report = makeReport(target, {
      instance: `${target}-${this.#revision}`,
      revision: this.#revision,
      serving: { role, ...(role === 'aggregated' ? {} : { split: SPLIT }) },
    });
    for (const effect of this.fleet.do({ type: 'report', target, report })) {
      this.#indexing.onEffect(effect);
      this.#routing.onEffect(effect);
    }
    this.#view = this.fleet.view();
    this.#indexing.onView(this.#view);
    this.#routing.onView(this.#view);
  }

  async run(step: Step): Promise<void> {
    const route = 'which' in step ? this.routes[step.which % Math.max(1, this.routes.length)] : undefined;
    switch (step.do) {
      case 'route':
        try {
          const { tokens, excluded, isUnsplit } = step;
          const made = await this.#routing.route({
            group: 'tiny',
            tokens: Uint32Array.from({ length: tokens }, (_, at) => at),
            loraName: '',
            cacheSalt: '',
            excluded,
            pairing: { protocols: ['nixl'], isUnsplit },
          });
          this.routes.push(made);
          expect(made.prefill === undefined).toBe(made.decision.pair === undefined);
          const pair = made.decision.pair;
          if (pair !== undefined) {
            expect(ROLES[pair.prefill.target as 'p-1']).toBe('prefill');
            expect(ROLES[made.decision.target as 'd-1']).toBe('decode');
          }
          for (const target of [made.decision.target, pair?.prefill.target])
            expect(excluded).not.toContain(target);
        } catch (error) {
          if (!(error instanceof RoutingError)) throw error;
        }
        return;
      case 'prefilled':
        route?.prefill?.prefillDone();
        route?.prefill?.release({ promptTokens: 1_000, cachedTokens: step.cached });
        return;
      case 'failed':
        (step.isPrefill ? route?.prefill : route)?.failed({ kind: 'closed', detail: '' });
        return;
      case 'progress':
        route?.prefillDone();
        route?.progress(step.tokens);
        return;
      case 'transferred':
        route?.transferred?.({
          transferredTokens: step.tokens,
          recomputedTokens: step.isLost ? step.tokens : 0,
          durationMs: step.tokens,
          failure: step.isLost ? 'lost' : undefined,
        });
        return;
      case 'release':
        if (route === undefined) return;
        this.routes.splice(this.routes.indexOf(route), 1);
        route.release({ promptTokens: 1_000, cachedTokens: 0 });
        route.release();
        route.prefill?.release();
        return;
      case 'restart':
        this.report(step.target);
        return;
      case 'wait':
        await this.clock.advanceMs(step.ms);
    }
  }

  async active(): Promise<number> {
    const text = await this.registry.metrics();
    return [...text.matchAll(/^kv_accord_router_active_(?:requests|blocks)\{.*\} (.+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  }

  async counts(): Promise<number[]> {
    const text = await this.registry.metrics();
    return [...text.matchAll(/^kv_accord_pd_[^ ]+ (.+)$/gm)].map(([, count]) => Number(count));
  }

  async close(): Promise<void> {
    await this.#routing.close();
    await this.#indexing.close();
  }
}

describe('requests over pairs', () => {
  it('count on both workers, and on none when they are over, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (story) => {
        const made = new Story();
        try {
          for (const step of story) await made.run(step);
          for (const count of await made.counts()) expect(count).toBeGreaterThanOrEqual(0);
          for (const route of made.routes) route.release();
          expect(await made.active()).toBe(0);
        } finally {
          await made.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});
