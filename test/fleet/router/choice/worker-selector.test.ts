import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Tier } from '../../../../src/core/blocks/tier.js';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { ApproximateIndex } from '../../../../src/fleet/indexer/groups/approximate-index.js';
import { WorkQueue } from '../../../../src/fleet/indexer/groups/work-queue.js';
import type { Candidate } from '../../../../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../../../../src/fleet/router/choice/cost.js';
import {
  type RoutedPrompt,
  WorkerSelector,
  type WorkerSelectorOptions,
} from '../../../../src/fleet/router/choice/worker-selector.js';
import { RoutingError } from '../../../../src/fleet/router/routing.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FilledIndex } from '../../../support/filled-index.js';
import { strictRefusals } from '../../../support/strict-refusals.js';
import { chainOf } from '../support/chained.js';

const TOKENS_PER_BLOCK = 16;

function candidate(target: string, other: Partial<Candidate> = {}): Candidate {
  return {
    target,
    workerId: `id-of-${target}`,
    instanceId: 'i-1',
    rank: 0,
    rankCount: 1,
    offer: 'full',
    ...other,
  };
}

function candidates(...targets: readonly string[]): Candidate[] {
  return targets.map((target) => candidate(target));
}

/** A prompt of these whole blocks, and some tokens more. */
function prompt(blocks: readonly number[], moreTokens = 0): RoutedPrompt {
  return {
    sequenceHashes: chainOf(blocks),
    tokenCount: TOKENS_PER_BLOCK * blocks.length + moreTokens,
  };
}

interface Made {
  readonly router: WorkerSelector;
  readonly index: FilledIndex;
}

function make(targets: readonly string[], options: Partial<WorkerSelectorOptions> = {}, seed = 1): Made {
  const router = new WorkerSelector(
    { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0, ...options },
    { random: seededRandom(seed) },
  );
  const index = new FilledIndex(TOKENS_PER_BLOCK);
  router.begin(index, TOKENS_PER_BLOCK);
  router.setCandidates(candidates(...targets));
  return { router, index };
}

function chosen(router: WorkerSelector, asked?: RoutedPrompt, excluded: readonly string[] = []): string {
  return router.decide(asked, excluded).candidate.target;
}

function blocksOn(router: WorkerSelector): Record<string, number> {
  return Object.fromEntries(router.loads().map((load) => [load.candidate.target, load.activeBlocks]));
}

function times(count: number, run: () => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < count; n += 1) {
    const name = run();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('a router by cost', () => {
  it('prefers the rank that holds the most of the prompt, and says what that costs', () => {
    const { router, index } = make(['a', 'b', 'c']);
    index.hold('b', 0, 'device', chainOf([1, 2, 3]));
    index.hold('c', 0, 'device', chainOf([1]));
    const decided = router.decide(prompt([1, 2, 3, 4], 8), []);
    expect(decided).toEqual({
      candidate: candidate('b'),
      promptTokens: 72,
      promptBlocks: 5,
      cachedBlocks: 3,
      sharedBlocks: 0,
      flyingBlocks: 0,
      bestBlocks: 3,
      lostReason: undefined,
      isDoubted: false,
      cost: {
        candidate: candidate('b'),
        logit: 1.5 + 5,
        overlapScoreWeight: 1,
        potentialPrefillBlocks: 1.5,
        potentialActiveBlocks: 5,
        cachedBlocks: [3, 3, 3, 3],
        probability: 1,
      },
    });
  });

  it('names the worker that holds more where load decides, and none that is excluded or the same', () => {
    const { router, index } = make(['a', 'b']);
    index.hold('b', 0, 'host', chainOf([1, 2, 3]));
    for (let n = 0; n < 3; n += 1) router.reserve(prompt([70 + n, 80 + n, 90 + n]), ['a']);
    const decided = router.decide(prompt([1, 2, 3, 4]), []);
    expect(decided.candidate.target).toBe('a');
    expect(decided.neighbour).toEqual({ target: 'b', rank: 0, cachedBlocks: 3 });
    expect(router.decide(prompt([1, 2, 3, 4]), ['b']).neighbour).toBeUndefined();
    expect(router.decide(prompt([5]), []).neighbour).toBeUndefined();
    router.setCandidates([candidate('b'), candidate('b', { rank: 1 })]);
    for (let n = 0; n < 3; n += 1) router.reserve(prompt([70 + n, 80 + n, 90 + n]), []);
    expect(router.decide(prompt([1, 2, 3, 4]), []).neighbour).toBeUndefined();
  });

  it('explains every candidate, the cheapest first, as the documentation words it', () => {
    const { router, index } = make(['worker_1', 'worker_2']);
    const held = Array.from({ length: 115 }, (_, at) => at);
    index.hold('worker_1', 0, 'device', chainOf(held.slice(0, 15)));
    const [first, second] = router.explain(prompt(held, 8), []);
    // 115.5 blocks of which 15 are cached; this request's own blocks are its active ones, a partial one counted.
    expect(first).toMatchObject({
      candidate: { target: 'worker_1' },
      potentialPrefillBlocks: 100.5,
      potentialActiveBlocks: 116,
      logit: 1 * 100.5 + 116,
      cachedBlocks: [15, 15, 15, 15],
      probability: 1,
    });
    expect(second).toMatchObject({ logit: 115.5 + 116, probability: 0 });
  });

  it('leaves a rank with a full cache when too much is active there', () => {
    const { router, index } = make(['a', 'b']);
    index.hold('a', 0, 'device', chainOf([1, 2, 3]));
    expect(chosen(router, prompt([1, 2, 3]))).toBe('a');
    for (let n = 0; n < 8; n += 1) router.reserve(prompt([100 + n]), ['b']);
    expect(chosen(router, prompt([1, 2, 3]))).toBe('b');
  });

  it('counts blocks that are active already once', () => {
    const { router } = make(['a', 'b']);
    router.reserve(prompt([1, 2, 3, 4]), ['b']);
    router.reserve(prompt([7, 8, 9, 10]), ['a']);
    const costs = new Map(
      router
        .explain(prompt([1, 2, 3, 5]), [])
        .map((cost) => [cost.candidate.target, cost.potentialActiveBlocks]),
    );
    expect(costs).toEqual(
      new Map([
        ['a', 5],
        ['b', 8],
      ]),
    );
  });

  it('credits what lies on the host or a disk in part', () => {
    const { router, index } = make(['device', 'host', 'disk', 'external', 'nothing']);
    const tiers: readonly Tier[] = ['device', 'host', 'disk', 'external'];
    for (const tier of tiers) index.hold(tier, 0, tier, chainOf([1, 2, 3, 4]));
    const costs = router.explain(prompt([1, 2, 3, 4]), []);
    const reported = Object.fromEntries(
      costs.map((cost) => [cost.candidate.target, [cost.potentialPrefillBlocks, cost.cachedBlocks]]),
    );
    expect(reported).toEqual({
      device: [0, [4, 4, 4, 4]],
      host: [1, [0, 4, 4, 4]],
      disk: [3, [0, 0, 4, 4]],
      external: [4, [0, 0, 0, 4]],
      nothing: [4, [0, 0, 0, 0]],
    });
  });

  it('expects nothing of the cache of those that are offered for load alone', () => {
    const { router, index } = make([]);
    index.hold('a', 0, 'device', chainOf([1, 2]));
    index.hold('b', 0, 'device', chainOf([1]));
    router.setCandidates([candidate('a', { offer: 'load_only' }), candidate('b')]);
    expect(chosen(router, prompt([1, 2]))).toBe('b');
    expect(router.explain(prompt([1, 2]), [])[1]?.cachedBlocks).toEqual([0, 0, 0, 0]);
  });

  it('knows the ranks of a worker apart', () => {
    const { router, index } = make([]);
    router.setCandidates([0, 1, 2].map((rank) => candidate('a', { rank, rankCount: 3 })));
    index.hold('a', 2, 'device', chainOf([1, 2]));
    expect(router.decide(prompt([1, 2]), []).candidate.rank).toBe(2);
    router.reserve(prompt([1, 2]), []);
    expect(router.loads().map(({ activeBlocks }) => activeBlocks)).toEqual([0, 0, 2]);
  });

  it('follows the index when ranks come to hold something, and their numbers go to others', () => {
    const { router, index } = make(['a', 'b']);
    index.hold('a', 0, 'device', chainOf([1, 2]));
    expect(chosen(router, prompt([1, 2]))).toBe('a');
    index.forget('a');
    index.hold('b', 0, 'device', chainOf([1, 2]));
    expect(chosen(router, prompt([1, 2]))).toBe('b');
    router.setCandidates(candidates('c', 'b', 'a'));
    expect(chosen(router, prompt([1, 2]))).toBe('b');
  });

  it('with weight 0 goes by what is active alone', () => {
    const { router, index } = make(['a', 'b'], {
      weights: { ...DEFAULT_COST_WEIGHTS, overlapScoreWeight: 0 },
    });
    index.hold('a', 0, 'device', chainOf([1, 2]));
    router.reserve(prompt([9]), ['b']);
    expect(chosen(router, prompt([1, 2]))).toBe('b');
  });

  it('draws ties evenly', () => {
    const { router } = make(['a', 'b', 'c', 'd']);
    const counts = times(4_000, () => chosen(router, prompt([1])));
    for (const target of ['a', 'b', 'c', 'd']) {
      expect(counts[target]).toBeGreaterThan(900);
      expect(counts[target]).toBeLessThan(1_100);
    }
  });

  it('of those that cost the same takes the one that computes least', () => {
    const { router, index } = make(['a', 'b', 'c']);
    index.hold('b', 0, 'device', chainOf([1, 2]));
    // As many blocks are active on b as it would save.
    const busy = router.reserve(prompt([7, 8]), ['a', 'c']);
    const costs = router.explain(prompt([1, 2, 3]), []);
    expect(new Set(costs.map(({ logit }) => logit)).size).toBe(1);
    expect(times(100, () => chosen(router, prompt([1, 2, 3])))).toEqual({ b: 100 });
    busy.release();
  });

  it('above temperature 0 chooses as often as it explains', () => {
    const { router, index } = make(['a', 'b', 'c'], { temperature: 0.5 });
    index.hold('a', 0, 'device', chainOf([1, 2, 3, 4]));
    index.hold('b', 0, 'device', chainOf([1, 2]));
    const asked = prompt([1, 2, 3, 4]);
    const chances = router.explain(asked, []);
    expect(chances.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 12);
    const counts = times(10_000, () => chosen(router, asked));
    for (const { candidate: one, probability } of chances) {
      const expected = 10_000 * probability;
      // Four standard deviations.
      const most = 4 * Math.sqrt(expected * (1 - probability));
      expect(Math.abs((counts[one.target] ?? 0) - expected)).toBeLessThan(most);
    }
  });

  it('makes the same choices again from the same seed', () => {
    const choices = [1, 1, 2].map((seed) => {
      const { router } = make(['a', 'b', 'c', 'd'], {}, seed);
      return Array.from({ length: 30 }, () => chosen(router, prompt([1]))).join('');
    });
    expect(choices[0]).toBe(choices[1]);
    expect(choices[0]).not.toBe(choices[2]);
  });

  it('without tokens goes where the fewest blocks are active, then the fewest requests', () => {
    const { router } = make(['a', 'b', 'c']);
    router.reserve(prompt([1]), ['b', 'c']);
    const unknown = [router.reserve(undefined, []), router.reserve(undefined, [])];
    expect(unknown.map(({ decided }) => decided.candidate.target).sort()).toEqual(['b', 'c']);
    expect(unknown[0]?.decided).toMatchObject({ promptTokens: undefined, promptBlocks: 0, cachedBlocks: 0 });
    unknown[0]?.progress(40);
    expect(chosen(router)).toBe(unknown[1]?.decided.candidate.target);
  });

  it('knows nobody to hold anything when there is no index', () => {
    const { router } = make(['a']);
    router.begin(undefined, 32);
    expect(router.decide(prompt([1, 2]), []).cachedBlocks).toBe(0);
    expect(router.tokensPerBlock).toBe(32);
  });

  it('teaches an index that learns from decisions', () => {
    const clock = new FakeClock();
    const queue = new WorkQueue({
      clock,
      turns: { soon: (run) => clock.setTimer(0, run) },
      refusals: strictRefusals(),
    });
    const learned = new ApproximateIndex(
      {
        epoch: 1,
        tokensPerBlock: TOKENS_PER_BLOCK,
        hashUnit: 'token',
        ttlMs: 1_000,
        maxBlocks: 100,
        pruneTargetRatio: 0.5,
      },
      { clock, queue },
    );
    const { router } = make(['a', 'b', 'c']);
    router.begin(learned, TOKENS_PER_BLOCK);
    const first = router.reserve(prompt([1, 2, 3]), []);
    first.release();
    const again = router.decide(prompt([1, 2, 3, 4]), []);
    expect(again.candidate).toEqual(first.decided.candidate);
    expect(again.cachedBlocks).toBe(3);
    learned.close();
  });
});

describe('the other modes', () => {
  it('take turns, also when workers come and go', () => {
    const { router } = make(['a', 'b', 'c'], { mode: 'round-robin' });
    const turns = (count: number) => Array.from({ length: count }, () => chosen(router)).join('');
    expect(turns(7)).toBe('abcabca');
    router.setCandidates(candidates('c', 'b', 'd', 'a'));
    expect(turns(5)).toBe('dbcad');
    router.begin(undefined, TOKENS_PER_BLOCK);
    expect(turns(3)).toBe('bca');
    router.setCandidates(candidates('a', 'c'));
    expect(turns(4)).toBe('caca');
    expect(chosen(router, undefined, ['c'])).toBe('a');
    expect(router.explain(undefined, []).map((cost) => [cost.candidate.target, cost.probability])).toEqual([
      ['c', 1],
      ['a', 0],
    ]);
  });

  it('choose by lot', () => {
    const { router, index } = make(['a', 'b'], { mode: 'random' });
    index.hold('a', 0, 'device', chainOf([1]));
    const counts = times(2_000, () => chosen(router, prompt([1])));
    expect(Math.abs((counts['a'] ?? 0) - 1_000)).toBeLessThan(100);
    expect(router.explain(prompt([1]), [])[0]?.probability).toBe(0.5);
  });

  it('choose where the fewest requests are active, ties by lot', () => {
    const { router } = make(['a', 'b', 'c'], { mode: 'least-loaded' });
    const reservations = [0, 1, 2].map(() => router.reserve(prompt([1, 2, 3]), []));
    expect(reservations.map(({ decided }) => decided.candidate.target).sort()).toEqual(['a', 'b', 'c']);
    reservations[1]?.release();
    expect(chosen(router)).toBe(reservations[1]?.decided.candidate.target);
  });
});

describe('what is active', () => {
  it('is counted by rank, and all of it ends with its requests', () => {
    const { router, index } = make(['a', 'b']);
    index.hold('a', 0, 'device', chainOf([1]));
    const reservation = router.reserve(prompt([1, 2], 3), []);
    expect(router.loads()).toEqual([
      { candidate: candidate('a'), activeBlocks: 3, activeRequests: 1, prefillingTokens: 19 },
      { candidate: candidate('b'), activeBlocks: 0, activeRequests: 0, prefillingTokens: 0 },
    ]);
    reservation.prefillDone();
    reservation.progress(14);
    expect(router.loads()[0]).toMatchObject({ activeBlocks: 4, prefillingTokens: 0 });
    reservation.release();
    reservation.release();
    expect(blocksOn(router)).toEqual({ a: 0, b: 0 });
  });

  it('ends with the worker, and with its instance', () => {
    const { router } = make(['a', 'b']);
    const onA = router.reserve(prompt([1, 2]), ['b']);
    router.reserve(prompt([1, 2]), ['a']);
    router.setCandidates([candidate('a', { instanceId: 'i-2' }), candidate('b')]);
    expect(blocksOn(router)).toEqual({ a: 0, b: 2 });
    onA.progress(100);
    onA.release();
    expect(blocksOn(router)).toEqual({ a: 0, b: 2 });
    router.setCandidates([]);
    router.setCandidates(candidates('b'));
    expect(blocksOn(router)).toEqual({ b: 0 });
  });

  it('stays when the same ranks are named again in another order, with another offer', () => {
    const { router } = make(['a', 'b', 'c']);
    router.reserve(prompt([1, 2]), ['b', 'c']);
    router.setCandidates([candidate('c'), candidate('a', { offer: 'load_only' })]);
    expect(blocksOn(router)).toEqual({ c: 0, a: 2 });
  });

  it('ends with the epoch, and what is said of it later is harmless', () => {
    const { router, index } = make(['a']);
    const old = router.reserve(prompt([1, 2]), []);
    router.begin(index, TOKENS_PER_BLOCK);
    expect(blocksOn(router)).toEqual({ a: 0 });
    const now = router.reserve(prompt([1, 2]), []);
    old.prefillDone();
    old.progress(99);
    old.release();
    expect(blocksOn(router)).toEqual({ a: 2 });
    now.release();
    expect(blocksOn(router)).toEqual({ a: 0 });
  });

  it('is not changed by deciding and explaining', () => {
    const { router } = make(['a']);
    router.decide(prompt([1]), []);
    router.explain(prompt([1]), []);
    expect(router.loads()[0]).toMatchObject({ activeBlocks: 0, activeRequests: 0 });
  });
});

describe('when nobody is left', () => {
  it('says why', () => {
    const { router } = make([]);
    const refusal = (excluded: readonly string[]): unknown => {
      try {
        return router.reserve(undefined, excluded);
      } catch (error) {
        return error;
      }
    };
    expect(refusal([])).toBeInstanceOf(RoutingError);
    expect(refusal([])).toMatchObject({
      code: 'no_worker',
      message: expect.stringContaining('none is offered'),
    });
    router.setCandidates(candidates('a'));
    expect(refusal(['a'])).toMatchObject({
      code: 'no_worker',
      message: expect.stringContaining('tried before (id-of-a (a))'),
    });
    expect(router.explain(undefined, ['a'])).toEqual([]);
  });

  it('leaves out those for whom there is no number, and takes them when others go', () => {
    const router = new WorkerSelector(
      { mode: 'least-loaded', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
      { random: seededRandom(1) },
    );
    const many = Array.from({ length: 65_540 }, (_, rank) => candidate('a', { rank }));
    router.setCandidates(many);
    router.begin(undefined, 16);
    expect([router.candidatesLeftOut, router.loads().length]).toEqual([5, 65_535]);
    router.setCandidates(many.slice(10));
    expect([router.candidatesLeftOut, router.loads().length]).toEqual([0, 65_530]);
  });

  it('says so before any epoch has begun, and takes candidates meanwhile', () => {
    const router = new WorkerSelector(
      { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
      { random: seededRandom(1) },
    );
    router.setCandidates(candidates('a', 'b'));
    expect(() => router.decide(undefined, [])).toThrow('no epoch has begun');
    router.begin(undefined, 16);
    expect(['a', 'b']).toContain(chosen(router, prompt([1])));
    expect(router.candidatesLeftOut).toBe(0);
  });
});

describe('whatever is cached and active', () => {
  const blocks = fc.array(fc.nat(1), { maxLength: 6 });
  const held = fc.array(fc.tuple(fc.nat(3), fc.constantFrom<Tier>('device', 'host', 'disk'), blocks), {
    maxLength: 12,
  });
  const names = ['a', 'b', 'c', 'd'];

  it('the order of the candidates changes no cost', () => {
    fc.assert(
      fc.property(
        held,
        fc.array(fc.tuple(fc.nat(3), blocks), { maxLength: 8 }),
        blocks,
        (caches, busy, asked) => {
          const [one, other] = [names, [...names].reverse()].map((order) => {
            const { router, index } = make(order);
            for (const [at, tier, chain] of caches) index.hold(names[at] as string, 0, tier, chainOf(chain));
            for (const [at, chain] of busy)
              router.reserve(
                prompt(chain, 5),
                names.filter((_, n) => n !== at),
              );
            const costs = router.explain(prompt(asked, 3), []);
            return costs
              .map(({ candidate: { target }, logit, probability }) => `${target} ${logit} ${probability}`)
              .sort();
          });
          expect(one).toEqual(other);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('the choice at temperature 0 is the cheapest, and one more cached block makes nobody dearer', () => {
    fc.assert(
      fc.property(held, blocks, fc.nat(3), (caches, asked, at) => {
        const { router, index } = make(names);
        for (const [holder, tier, chain] of caches)
          index.hold(names[holder] as string, 0, tier, chainOf(chain));
        const before = router.explain(prompt(asked, 1), []);
        const least = Math.min(...before.map(({ logit }) => logit));
        expect(router.decide(prompt(asked, 1), []).cost.logit).toBe(least);
        index.hold(names[at] as string, 0, 'device', chainOf(asked));
        for (const { candidate: one, logit } of router.explain(prompt(asked, 1), [])) {
          const earlier = before.find(({ candidate: { target } }) => target === one.target);
          expect(logit).toBeLessThanOrEqual(earlier?.logit ?? Number.NaN);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the requests of a session', () => {
  const of = (router: WorkerSelector, sessionHash: number, asked?: RoutedPrompt): string =>
    router.decide(asked, [], { sessionHash }).candidate.target;

  it('go to the same one of equally good workers, and sessions to all of them', () => {
    for (const mode of ['kv', 'least-loaded'] as const) {
      const { router } = make(['a', 'b', 'c'], { mode });
      const all = new Set<string>();
      for (let session = 1; session < 40; session += 1) {
        const first = of(router, session * 7_919);
        for (let again = 0; again < 5; again += 1) expect(of(router, session * 7_919)).toBe(first);
        all.add(first);
      }
      expect([...all].sort()).toEqual(['a', 'b', 'c']);
    }
  });

  it('go where they cost less, whatever the session', () => {
    const { router, index } = make(['a', 'b']);
    index.hold('b', 0, 'device', chainOf([1, 2, 3, 4]));
    for (let session = 1; session < 20; session += 1)
      expect(of(router, session * 7_919, prompt([1, 2, 3, 4]))).toBe('b');
  });

  it('are drawn or take their turn in the modes that ask for that', () => {
    for (const mode of ['random', 'round-robin'] as const) {
      const { router } = make(['a', 'b', 'c'], { mode });
      expect(new Set(Array.from({ length: 30 }, () => of(router, 7)))).toEqual(new Set(['a', 'b', 'c']));
    }
  });
});

describe('the next best workers', () => {
  it('are named in the order of their cost, as many as were asked for, without those excluded', () => {
    const { router, index } = make(['a', 'b', 'c', 'd']);
    index.hold('b', 0, 'device', chainOf([1, 2, 3]));
    index.hold('d', 0, 'device', chainOf([1, 2]));
    index.hold('c', 0, 'device', chainOf([1]));
    const asked = prompt([1, 2, 3, 4], 8);
    expect(router.decide(asked, [], { fallbacks: 2 }).fallbacks).toEqual(['d', 'c']);
    expect(router.decide(asked, ['d'], { fallbacks: 9 }).fallbacks).toEqual(['c', 'a']);
    expect(router.decide(asked, []).fallbacks).toBeUndefined();
  });

  it('have as many ranks as the one that was chosen, and are named once', () => {
    const { router, index } = make([]);
    router.setCandidates([
      ...[0, 1].map((rank) => candidate('a', { rank, rankCount: 2 })),
      ...[0, 1].map((rank) => candidate('b', { rank, rankCount: 2 })),
      candidate('c'),
    ]);
    index.hold('a', 1, 'device', chainOf([1, 2]));
    expect(router.decide(prompt([1, 2, 3]), [], { fallbacks: 5 }).fallbacks).toEqual(['b']);
  });

  it('are those that waited longest where turns decide', () => {
    const { router } = make(['a', 'b', 'c'], { mode: 'round-robin' });
    expect(router.reserve(undefined, []).decided.candidate.target).toBe('a');
    expect(router.reserve(undefined, [], { fallbacks: 2 }).decided).toMatchObject({
      candidate: { target: 'b' },
      fallbacks: ['c', 'a'],
    });
  });
});
