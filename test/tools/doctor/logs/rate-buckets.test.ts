import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateBuckets } from '../../../../src/tools/doctor/logs/rate-buckets.js';

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('the buckets of a rate', () => {
  it('begin at whole seconds and have what was in each', () => {
    const buckets = new RateBuckets();
    for (const ms of [10_500, 10_900, 12_000]) buckets.add(ms, 2);
    expect(buckets.counts).toEqual({ startMs: 10_000, bucketMs: 1_000, counts: [2, 0, 1] });
    expect(buckets.sums.counts).toEqual([4, 0, 2]);
  });

  it('have no begin when nothing has a time', () => {
    const buckets = new RateBuckets();
    buckets.add(undefined, 1);
    expect(buckets.counts).toEqual({ startMs: undefined, bucketMs: 1_000, counts: [] });
  });

  it('double their width when the time grows, and keep what was counted', () => {
    const buckets = new RateBuckets();
    for (let second = 0; second < 1_000; second += 1) buckets.add(1_700_000_000_000 + second * 1_000, 1);
    const { bucketMs, counts } = buckets.counts;
    expect(bucketMs).toBe(8_000);
    expect(counts.length).toBeLessThanOrEqual(240);
    expect(sum(counts)).toBe(1_000);
  });

  it('are the same in whatever order the times come, and never more than 240', () => {
    const times = fc.array(fc.integer({ min: 1_420_070_400_000, max: 4_102_444_799_999 }), { maxLength: 60 });
    fc.assert(
      fc.property(times, (all) => {
        const [forth, back] = [new RateBuckets(), new RateBuckets()];
        for (const ms of all) forth.add(ms, 3);
        for (const ms of all.toReversed()) back.add(ms, 3);
        expect(forth.counts).toEqual(back.counts);
        expect(forth.counts.counts.length).toBeLessThanOrEqual(240);
        expect(sum(forth.counts.counts)).toBe(all.length);
        expect(sum(forth.sums.counts)).toBe(3 * all.length);
      }),
    );
  });
});
