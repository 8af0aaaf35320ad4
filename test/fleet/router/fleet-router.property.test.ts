import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { AgreementEvent } from '../../../src/core/agreement/state/events.js';
import type { ServingRole } from '../../../src/core/contract/serving.js';
import { FleetIndexing, type FleetIndexingModules } from '../../../src/fleet/indexer/fleet-indexing.js';
import { FleetRouter } from '../../../src/fleet/router/fleet-router.js';
import { type Route, type RouterMode, RoutingError } from '../../../src/fleet/router/routing.js';
import { FakeClock } from '../../support/fake-clock.js';
import { makeReport, TestFleet } from '../../support/fleet.js';
import { propertyRuns } from '../../support/property-runs.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const TARGETS = ['a', 'b', 'c', 'd'];
const MODELS = ['tiny', 'other'] as const;

/** The first five times in six. */
const mostly = <T>(usual: T, other: T): fc.Arbitrary<T> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(other) });

const target = fc.constantFrom(...TARGETS);
const steps = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('list' as const),
      targets: fc.subarray(TARGETS, { minLength: 2 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      target,
      size: mostly(32, 16),
      model: mostly('tiny', 'other'),
      instance: fc.constantFrom('1', '2'),
      draining: mostly(false, true),
      ranks: fc.constantFrom([0], [0, 1], [1, 2]),
      role: mostly<ServingRole>('aggregated', 'prefill'),
      isUsable: mostly(true, false),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('break' as const), target }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 100, 5_000, 40_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('view' as const) }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('route' as const),
      group: mostly<string>(...MODELS),
      tokens: fc.option(fc.nat({ max: 300 }), { nil: undefined }),
      first: fc.nat({ max: 3 }),
      excluded: fc.subarray(TARGETS, { maxLength: 2 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('progress' as const),
      which: fc.nat(),
      tokens: fc.nat({ max: 500 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('release' as const),
      which: fc.nat(),
      cached: fc.option(fc.nat({ max: 1_000 }), { nil: undefined }),
    }),
  },
);

type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

/** A fleet whose views come late, as those of a running aggregator do, and its requests. */
class Story {
  readonly fleet = new TestFleet({ isStaticDiscovery: true, kvEvents: 'approximate' });
  readonly clock = new FakeClock();
  readonly registry = new Registry();
  readonly routes: Route[] = [];
  readonly #indexing: FleetIndexing;
  readonly #routing: FleetRouter;
  readonly #parts: readonly (FleetIndexing | FleetRouter)[];
  #view = this.fleet.view();
  #revision = 0;

  constructor(mode: RouterMode, isRouterFirst: boolean) {
    const { clock, registry } = this;
    const logger = new RecordingLogger();
    const random = { fraction: () => 0.5, uniqueId: () => 'id' };
    const edge = {} as FleetIndexingModules['edge'];
    const view = () => this.#view;
    const fleet = {
      get view() {
        return view();
      },
      doubted: () => undefined,
      ejected: () => undefined,
    };
    this.#indexing = new FleetIndexing(
      { approximate: { ttlMs: 120_000, maxBlocks: 40, pruneTargetRatio: 0.5 } },
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
        mode,
        temperature: 0,
        weights: { overlapScoreWeight: 1, hostCacheHitWeight: 0.75, diskCacheHitWeight: 0.25 },
        decisionLog: 'none',
      },
      { clock, logger, registry, random, edge, indexes: this.#indexing, fleet },
    );
    this.#parts = isRouterFirst ? [this.#routing, this.#indexing] : [this.#indexing, this.#routing];
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'list':
        this.#do({
          type: 'listed',
          members: step.targets.map((each) => ({ target: each, draining: false })),
        });
        return;
      case 'report': {
        this.#revision += 1;
        const { size, model, draining, ranks, role, isUsable } = step;
        const report = makeReport(step.target, {
          ...{ size, model, draining },
          instance: `${step.target}-${step.instance}`,
          revision: this.#revision,
          serving: { ranks, role },
          ...(isUsable ? {} : { unusable: 'starting' }),
        });
        if (this.fleet.state.members.has(step.target))
          this.#do({ type: 'report', target: step.target, report });
        return;
      }
      case 'break':
        if (this.fleet.state.members.has(step.target))
          this.#do({ type: 'broken', target: step.target, reason: 'gone' });
        return;
      case 'wait':
        await this.clock.advanceMs(step.ms);
        this.#report(this.fleet.advance(step.ms));
        this.show();
        return;
      case 'view':
        this.show();
        return;
      case 'route':
        await this.#route(step);
        return;
      case 'progress': {
        const route = this.routes[step.which % Math.max(1, this.routes.length)];
        route?.prefillDone();
        route?.progress(step.tokens);
        return;
      }
      case 'release': {
        const [route] = this.routes.splice(step.which % Math.max(1, this.routes.length), 1);
        route?.release(
          step.cached === undefined ? undefined : { promptTokens: 100, cachedTokens: step.cached },
        );
        route?.release();
      }
    }
  }

  /** The first view in which everybody is offered. */
  agree(): void {
    this.#do({ type: 'listed', members: TARGETS.map((each) => ({ target: each, draining: false })) });
    for (const each of TARGETS) this.#do({ type: 'report', target: each, report: makeReport(each, {}) });
    this.show();
  }

  show(): void {
    this.#view = this.fleet.view();
    for (const part of this.#parts) part.onView(this.#view);
  }

  async active(): Promise<number[]> {
    const text = await this.registry.metrics();
    return [...text.matchAll(/^kv_accord_router_active_(?:requests|blocks)\{.*\} (.+)$/gm)].map(([, n]) =>
      Number(n),
    );
  }

  async close(): Promise<void> {
    await this.#routing.close();
    await this.#indexing.close();
  }

  async #route({ group, tokens: count, first, excluded }: Extract<Step, { do: 'route' }>): Promise<void> {
    const tokens =
      count === undefined ? undefined : Uint32Array.from({ length: count }, (_, at) => first + at);
    try {
      const route = await this.#routing.route({ group, tokens, loraName: '', cacheSalt: '', excluded });
      this.routes.push(route);
      const { target: chosen, rank } = route.decision;
      expect(excluded).not.toContain(chosen);
      const member = this.#view.groups
        .find((each) => each.group === group)
        ?.members.find((each) => each.target === chosen);
      expect(member).toMatchObject({ serving: { role: 'aggregated' } });
      expect(member?.offer).not.toBe('none');
      expect(member?.serving?.ranks).toContain(rank);
      expect(this.fleet.group(group)).toMatchObject({ gateOpen: true, epoch: route.decision.epoch });
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
    }
  }

  #do(event: AgreementEvent): void {
    this.#report(this.fleet.do(event));
  }

  /** A gate that opens or shuts shows immediately, everything else when answers are next prepared. */
  #report(effects: ReturnType<TestFleet['do']>): void {
    for (const effect of effects) for (const part of this.#parts) part.onEffect(effect);
    if (effects.some(({ type }) => type === 'gate' || type === 'log')) this.show();
  }
}

describe('whatever becomes of a fleet', () => {
  it('every request goes to a worker that is offered in the running epoch, and leaves nothing behind', async () => {
    const stories = fc.record({
      mode: fc.constantFrom<RouterMode>('kv', 'kv', 'least-loaded', 'round-robin'),
      isRouterFirst: fc.boolean(),
      all: fc.array(steps, { minLength: 20, maxLength: 80 }),
    });
    await fc.assert(
      fc.asyncProperty(stories, async ({ mode, isRouterFirst, all }) => {
        const story = new Story(mode, isRouterFirst);
        story.agree();
        for (const step of all) await story.run(step);
        for (const active of await story.active()) expect(active).toBeGreaterThanOrEqual(0);
        for (const route of story.routes) route.release();
        expect((await story.active()).filter((n) => n !== 0)).toEqual([]);
        await story.close();
        expect(story.clock.pendingTimers).toBe(0);
      }),
      { numRuns: propertyRuns(80) },
    );
  });
});
