import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Prediction } from '../../../../src/fleet/router/results/prediction.js';
import { ResultBooks, sumCounts } from '../../../../src/fleet/router/results/result-books.js';
import { toGroupResults } from '../../../../src/fleet/router/results/results-messages.js';
import { registerResultMetrics } from '../../../../src/fleet/router/results/results-metrics.js';
import { RouterTally } from '../../../../src/fleet/router/router-tally.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { makePrediction } from '../support/predictions.js';

function make(instances: Record<string, string> = { 'w-1': 'w-1-1' }): {
  books: ResultBooks;
  clock: FakeClock;
} {
  const clock = new FakeClock();
  const books = new ResultBooks({ clock });
  books.begin(1);
  books.keepOnly(new Map(Object.entries(instances)));
  return { books, clock };
}

/** One request whose engine reports so many cached tokens, or no number. */
function finish(books: ResultBooks, prediction: Prediction, cachedTokens: number | undefined): boolean {
  const promptTokens = prediction.decision.promptTokens ?? 0;
  const reported = books.read(prediction.decision, { promptTokens, cachedTokens });
  return reported !== undefined && books.record(prediction, reported) !== undefined;
}

describe('the books of a group', () => {
  it('hold predicted against reported tokens by worker and rank', () => {
    const { books } = make({ 'w-1': 'w-1-1', 'w-2': 'w-2-1' });
    finish(books, makePrediction(), 64);
    finish(books, makePrediction({ decision: { rank: 1 } }), 32);
    finish(books, makePrediction({ decision: { target: 'w-2', instanceId: 'w-2-1', cachedBlocks: 0 } }), 96);
    expect(
      books.results().map(({ target, rank, total }) => [target, rank, total.overTokens, total.underTokens]),
    ).toEqual([
      ['w-1', 0, 0, 0],
      ['w-1', 1, 32, 0],
      ['w-2', 0, 0, 96],
    ]);
    expect(sumCounts(books.results().map(({ window }) => window))).toEqual({
      requests: 3,
      predictedTokens: 128,
      reportedTokens: 192,
      overTokens: 32,
      underTokens: 96,
      contradictions: 2,
      otherPrompts: 0,
    });
  });

  it('tell an engine that reports nothing from one that leaves out a count of 0', () => {
    const { books } = make();
    const silent = (): string | undefined => books.resultsOf('w-1')[0]?.reporting;
    expect(finish(books, makePrediction(), undefined)).toBe(false);
    expect(books.results()).toEqual([]);
    expect(finish(books, makePrediction(), 64)).toBe(true);
    expect(silent()).toBe('reports');
    // From now on what is left out is 0.
    expect(finish(books, makePrediction(), undefined)).toBe(true);
    expect(books.resultsOf('w-1')[0]?.total).toMatchObject({ requests: 2, overTokens: 64 });
  });

  it('begin again with each start of an engine, and end with the worker', () => {
    const { books } = make();
    finish(books, makePrediction(), 0);
    books.keepOnly(new Map([['w-1', 'w-1-2']]));
    expect(books.results()).toEqual([]);
    // The last requests of the start before come too late.
    expect(finish(books, makePrediction(), 0)).toBe(false);
    finish(books, makePrediction({ decision: { instanceId: 'w-1-2' } }), 64);
    expect(books.results()).toMatchObject([{ instanceId: 'w-1-2', total: { requests: 1, overTokens: 0 } }]);
    books.keepOnly(new Map());
    expect(books.results()).toEqual([]);
  });

  it('doubt a rank whose results contradict its view, and believe it again by its results', () => {
    const { books } = make();
    const other = makePrediction({ decision: { rank: 1 } });
    for (let n = 0; n < 5; n += 1) {
      finish(books, makePrediction(), 0);
      finish(books, other, 64);
    }
    expect(books.results().map(({ isDoubted }) => isDoubted)).toEqual([true, false]);
    for (let n = 0; n < 20; n += 1) finish(books, makePrediction(), 64);
    expect(books.results()[0]).toMatchObject({
      isDoubted: false,
      window: { requests: 0 },
      total: { requests: 25 },
    });
  });

  it('take what agrees on nothing for no proof', () => {
    const { books } = make();
    for (let n = 0; n < 5; n += 1) finish(books, makePrediction(), 0);
    const nothing = makePrediction({ decision: { cachedBlocks: 0 } });
    for (let n = 0; n < 100; n += 1) finish(books, nothing, 0);
    expect(books.results()[0]?.isDoubted).toBe(true);
  });

  it('forget what a view of the epoch before was doubted for', () => {
    const { books } = make();
    for (let n = 0; n < 5; n += 1) finish(books, makePrediction(), 0);
    books.begin(2);
    expect(finish(books, makePrediction(), 0)).toBe(false);
    finish(books, makePrediction({ decision: { epoch: 2 } }), 64);
    expect(books.results()).toMatchObject([{ isDoubted: false, total: { requests: 6, contradictions: 5 } }]);
  });
});

it('an answer names the worst first, and a bounded number', () => {
  const instances = Object.fromEntries(Array.from({ length: 2_100 }, (_, n) => [`w-${n}`, 'i']));
  const { books } = make(instances);
  for (const target of Object.keys(instances))
    finish(books, makePrediction({ decision: { target, instanceId: 'i' } }), target === 'w-2099' ? 0 : 64);
  const { ranks, rankCount } = toGroupResults('tiny', books.results(), {
    tally: new RouterTally(),
    workerIdOf: () => '',
  });
  expect(rankCount).toBe(2_100);
  expect(ranks).toHaveLength(2_000);
  expect(ranks[0]).toMatchObject({ target: 'w-2099', window: { contradictions: 1n } });
});

it('the metrics name a bounded number of workers, and end with them', async () => {
  const instances = Object.fromEntries(Array.from({ length: 510 }, (_, n) => [`w-${n}`, 'i']));
  const { books } = make(instances);
  const registry = new Registry();
  registerResultMetrics(registry, new Map([['tiny', { books, workerIdOf: (target) => `id of ${target}` }]]));
  for (const target of Object.keys(instances))
    finish(books, makePrediction({ decision: { target, instanceId: 'i' } }), 32);
  const text = await registry.metrics();
  expect(text).toContain(
    'kv_accord_router_worker_over_predicted_tokens_total{group="tiny",worker_id="id of w-499",worker="w-499"} 32',
  );
  expect(text).toContain(
    'kv_accord_router_worker_over_predicted_tokens_total{group="tiny",worker_id="others",worker="others"} 320',
  );
  expect(text).not.toContain('worker="w-500"');
  books.keepOnly(new Map());
  expect(await registry.metrics()).not.toContain('worker=');
});
