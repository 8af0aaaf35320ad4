import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { ActiveRoute } from '../../../../src/fleet/router/active-route.js';
import { DEFAULT_COST_WEIGHTS } from '../../../../src/fleet/router/choice/cost.js';
import { type RoutedPrompt, WorkerSelector } from '../../../../src/fleet/router/choice/worker-selector.js';
import { MAX_FLIGHT_MS, SETTLE_MS, Settling } from '../../../../src/fleet/router/settling.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FilledIndex } from '../../../support/filled-index.js';
import { chainOf } from '../support/chained.js';
import { makePrediction } from '../support/predictions.js';

const TOKENS_PER_BLOCK = 16;

function prompt(...blocks: readonly number[]): RoutedPrompt {
  return { sequenceHashes: chainOf(blocks), tokenCount: TOKENS_PER_BLOCK * blocks.length + 5 };
}

const LONG = prompt(...Array.from({ length: 100 }, (_, at) => at));

/** A router over some workers, whose requests settle by a clock that the test moves. */
class Flights {
  readonly clock = new FakeClock();
  readonly index = new FilledIndex(TOKENS_PER_BLOCK);
  readonly router: WorkerSelector;
  readonly #settling = new Settling({ clock: this.clock });

  constructor(workers: number, predictsOnRoute = true) {
    this.router = new WorkerSelector(
      { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0, predictsOnRoute },
      { random: seededRandom(1) },
    );
    this.router.begin(this.index, TOKENS_PER_BLOCK);
    this.setWorkers(Array.from({ length: workers }, (_, at) => `w-${at}`));
  }

  setWorkers(targets: readonly string[]): void {
    this.router.setCandidates(
      targets.map((target) => ({
        target,
        workerId: target,
        instanceId: 'i',
        rank: 0,
        rankCount: 1,
        offer: 'full',
      })),
    );
  }

  send(asked: RoutedPrompt): ActiveRoute & { readonly cachedBlocks: number } {
    const reservation = this.router.reserve(asked, []);
    const { candidate, cachedBlocks, flyingBlocks, promptTokens } = reservation.decided;
    const prediction = makePrediction({
      decision: { target: candidate.target, promptTokens, cachedBlocks, tokensPerBlock: TOKENS_PER_BLOCK },
      inFlightBlocks: flyingBlocks,
    });
    const route = new ActiveRoute(prediction, reservation, 0, {
      onEnded: () => undefined,
      onReleased: () => undefined,
      onSettled: () => undefined,
      onAnswered: () => undefined,
      onFailed: () => undefined,
      onTransferred: () => undefined,
      onComputed: (computed) => this.#settling.computed(computed),
    });
    if (route.isFollowed) route.due = this.#settling.sent(route);
    return Object.assign(route, { cachedBlocks });
  }

  /** How many workers get `count` equal prompts that come at the same moment. */
  burst(count: number): number {
    const routes = Array.from({ length: count }, () => this.send(LONG));
    // It is no knowledge: nothing of it stands in what is compared with results.
    expect(routes.every(({ cachedBlocks }) => cachedBlocks === 0)).toBe(true);
    return new Set(routes.map(({ decision }) => decision.target)).size;
  }
}

describe('a prompt on its way', () => {
  it('is expected where it goes: a burst of 50 equal prompts computes its prefix once or twice, however many workers there are', async () => {
    for (const workers of [2, 10]) expect(new Flights(workers).burst(50)).toBeLessThanOrEqual(2);
  });

  it('is not expected with the switch off', async () => {
    const flights = new Flights(10, false);
    expect(flights.burst(50)).toBe(10);
    expect(flights.router.inFlightBlocks).toBe(0);
  });

  it('is expected until the index must have heard of it, and then what the index says alone', async () => {
    const flights = new Flights(2);
    const first = flights.send(LONG);
    first.prefillDone();
    first.release({ promptTokens: 1_605, cachedTokens: 0 });
    expect(flights.router.inFlightBlocks).toBe(100);
    await flights.clock.advanceMs(SETTLE_MS);
    expect(flights.router.inFlightBlocks).toBe(0);
    expect(flights.clock.pendingTimers).toBe(0);
  });

  it('is not expected any longer when it failed, or waits for ever', async () => {
    const flights = new Flights(2);
    flights.send(LONG).release();
    expect(flights.router.inFlightBlocks).toBe(0);
    const waiting = flights.send(LONG);
    await flights.clock.advanceMs(MAX_FLIGHT_MS);
    expect(flights.router.inFlightBlocks).toBe(0);
    waiting.release();
  });

  it('is not expected of a worker whose results contradict its view', async () => {
    const flights = new Flights(2);
    const { target } = flights.send(LONG).decision;
    flights.router.trust(target, 0, 0.5);
    const second = flights.router.reserve(LONG, []).decided;
    expect(second.candidate.target).not.toBe(target);
  });

  it('knows which of its blocks were evicted while it waited, and which before', async () => {
    const flights = new Flights(1);
    flights.index.hold('w-0', 0, 'device', LONG.sequenceHashes);
    const before = flights.send(LONG);
    flights.index.evict('w-0', 0, LONG.sequenceHashes.subarray(8 * 60, 8 * 61));
    const after = flights.send(LONG);
    expect(before.amendment()).toEqual({ keptBlocks: 60, foundBlocks: 60 });
    expect(after.amendment().keptBlocks).toBe(100);
    flights.index.hold('w-0', 0, 'device', LONG.sequenceHashes);
    before.prefillDone();
    await flights.clock.advanceMs(SETTLE_MS);
    expect(before.amendment()).toEqual({ keptBlocks: 60, foundBlocks: 100 });
  });

  it('is distinguished from one whose blocks were named elsewhere or nowhere', async () => {
    const flights = new Flights(2);
    const [one, other] = [flights.send(LONG), flights.send(prompt(7, 8, 9))];
    expect(one.stored()).toBe('nowhere');
    flights.index.hold(one.decision.target, 0, 'device', LONG.sequenceHashes);
    expect(one.stored()).toBe('here');
    const elsewhere = other.decision.target === 'w-0' ? 'w-1' : 'w-0';
    flights.index.hold(elsewhere, 0, 'device', prompt(7, 8, 9).sequenceHashes);
    expect(other.stored()).toBe('elsewhere');
  });
});

type Step =
  | { readonly do: 'send'; readonly blocks: readonly number[] }
  | { readonly do: 'first' | 'release' | 'fail'; readonly at: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'workers'; readonly count: number }
  | { readonly do: 'evict'; readonly block: number };

const at = fc.nat({ max: 20 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      blocks: fc.array(fc.nat({ max: 3 }), { maxLength: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('first' as const, 'release' as const, 'fail' as const), at }),
  },
  fc.record({
    do: fc.constant('wait' as const),
    ms: fc.constantFrom(1, SETTLE_MS / 2, SETTLE_MS, MAX_FLIGHT_MS),
  }),
  fc.record({ do: fc.constant('workers' as const), count: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant('evict' as const), block: fc.nat({ max: 3 }) }),
);

it('of all prompts on their way nothing is left when they are over, whatever comes in which order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.boolean(), async (steps, predicts) => {
      const flights = new Flights(3, predicts);
      const routes: ActiveRoute[] = [];
      for (const one of steps) {
        if (one.do === 'send') routes.push(flights.send(prompt(...one.blocks)));
        else if (one.do === 'wait') await flights.clock.advanceMs(one.ms);
        else if (one.do === 'workers')
          flights.setWorkers(Array.from({ length: one.count }, (_, worker) => `w-${worker}`));
        else if (one.do === 'evict') {
          flights.index.hold('w-0', 0, 'device', prompt(one.block).sequenceHashes);
          flights.index.evict('w-0', 0, prompt(one.block).sequenceHashes);
        } else {
          const route = routes[one.at % Math.max(1, routes.length)];
          if (one.do === 'first') route?.prefillDone();
          else if (one.do === 'fail') route?.release();
          else route?.release({ promptTokens: 5, cachedTokens: 0 });
        }
      }
      for (const route of routes) route.release();
      await flights.clock.advanceMs(MAX_FLIGHT_MS);
      expect(flights.router.inFlightBlocks).toBe(0);
      expect(flights.router.loads().every(({ activeBlocks }) => activeBlocks === 0)).toBe(true);
      expect(flights.clock.pendingTimers).toBe(0);
    }),
  );
});
