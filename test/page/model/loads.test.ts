import { describe, expect, it } from 'vitest';
import { LOAD_COLUMNS } from '../../../src/core/view/view-document.js';
import { byId, LoadHistory, loadOf } from '../../../src/page/model/loads.js';
import { joinBuckets, sumBuckets, timesOf } from '../../../src/page/model/routing-sums.js';

const row = (id: number, decisions: number) =>
  LOAD_COLUMNS.map((name) => (name === 'id' ? id : name === 'decisions' ? decisions : 0));

describe('the numbers of a worker', () => {
  it('are 0 where it has no row', () => {
    expect(loadOf(undefined, 'decisions')).toBe(0);
    expect(loadOf(byId([row(4, 12)]).get(4), 'decisions')).toBe(12);
  });

  it('make a rate over the last half minute', () => {
    const history = new LoadHistory();
    expect(history.ratesOf(1)).toBeUndefined();
    for (let at = 0; at <= 12; at += 1) expect(history.take(at * 5_000, byId([row(1, at * 10)]))).toBe(true);
    expect(history.take(61_000, byId([row(1, 999)]))).toBe(false);
    expect(history.ratesOf(1)?.requests).toBe(2);
    expect(history.curveOf(1, 'decisions')).toEqual(Array.from({ length: 12 }, () => 10));
  });

  it('never make a rate below 0 when a worker starts to count again', () => {
    const history = new LoadHistory();
    history.take(0, byId([row(1, 500)]));
    history.take(5_000, byId([row(1, 3)]));
    expect(history.ratesOf(1)?.requests).toBe(0);
    expect(history.curveOf(1, 'decisions')).toEqual([0]);
  });
});

const bucket = (atMs: number, decisions: number, ttft?: number) => ({
  atMs,
  decisions,
  finished: decisions,
  promptTokens: 100 * decisions,
  bestTokens: 60 * decisions,
  chosenTokens: 50 * decisions,
  engineTokens: 40 * decisions,
  outputTokens: 0,
  lost: { load: [1, 10 * decisions] as const },
  failures: { unreachable: 1 },
  ejections: 0,
  indexBlocks: 5,
  storedBlocks: 0,
  removedBlocks: 0,
  refused: 0,
  ...(ttft === undefined
    ? {}
    : { firstTurn: { count: 1, meanMs: ttft, p50Ms: ttft, p90Ms: ttft, p99Ms: ttft } }),
});

describe('the last minutes', () => {
  it('of several models are added up by time', () => {
    const joined = joinBuckets([
      { group: 'a', bucketMs: 10_000, buckets: [bucket(0, 1), bucket(10_000, 2, 100)] },
      { group: 'b', bucketMs: 10_000, buckets: [bucket(10_000, 3, 300)] },
    ]);
    expect(joined.map(({ atMs, decisions }) => [atMs, decisions])).toEqual([
      [0, 1],
      [10_000, 5],
    ]);
    expect(joined[1]?.firstTurn).toMatchObject({ count: 2, meanMs: 200 });
  });

  it('are summed, with lost hits by reason', () => {
    const sums = sumBuckets([bucket(0, 1), bucket(10_000, 2, 100)], 10_000);
    expect(sums).toMatchObject({ seconds: 20, decisions: 3, bestTokens: 180, failures: { unreachable: 2 } });
    expect(sums.lost).toEqual([{ reason: 'load', requests: 2, tokens: 30 }]);
    expect(sumBuckets([], 10_000)).toMatchObject({ decisions: 0, lost: [] });
  });

  it('end with the last bucket that is complete', () => {
    const buckets = [bucket(100_007, 1), bucket(110_007, 1)];
    expect(timesOf(buckets, 10_000, 113_000, 0).slice(-3)).toEqual([80_007, 90_007, 100_007]);
    expect(timesOf(buckets, 10_000, 131_000, 0).slice(-3)).toEqual([100_007, 110_007, 120_007]);
    expect(timesOf(buckets, 10_000, 131_000, 100_000)).toHaveLength(12);
    expect(timesOf(buckets, 10_000, 9_000_000, 0)).toHaveLength(90);
  });
});
