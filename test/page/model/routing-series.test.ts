import { describe, expect, it } from 'vitest';
import type { ViewBucket, ViewDocument } from '../../../src/core/view/view-document.js';
import { routingSeriesOf } from '../../../src/page/model/routing-series.js';

const bucket = (atMs: number, decisions: number) =>
  ({ atMs, decisions, lost: {}, failures: {} }) as ViewBucket;

const document = {
  atMs: 60_000,
  process: { startedAtMs: 0 },
  routing: [
    { group: 'a', bucketMs: 10_000, buckets: [bucket(30_000, 20), bucket(50_000, 40)] },
    { group: 'b', bucketMs: 10_000, buckets: [bucket(50_000, 60)] },
  ],
} as unknown as ViewDocument;

describe('the curves of routing', () => {
  it('have a point for each bucket, also for those in which nothing happened', () => {
    const { times, curve } = routingSeriesOf(document, 'a');
    expect(times.slice(-3)).toEqual([30_000, 40_000, 50_000]);
    expect(curve(({ decisions }) => decisions, null).slice(-3)).toEqual([20, null, 40]);
  });

  it('are rates in 1/s, over all models where none is chosen', () => {
    expect(
      routingSeriesOf(document, '')
        .ratePerSecond(({ decisions }) => decisions)
        .slice(-3),
    ).toEqual([2, 0, 10]);
  });

  it('are empty for a model that is not there', () => {
    expect(routingSeriesOf(document, 'c').buckets).toEqual([]);
  });
});
