import { describe, expect, it } from 'vitest';
import { backoffMs, returnWaitMs } from '../../../src/edge/platform/time/backoff.js';
import { MessageBudget } from '../../../src/fleet/aggregator/sessions/message-budget.js';

describe('the wait before an attempt', () => {
  const waits = (fraction: number): number[] =>
    [1, 2, 3, 7, 8, 1_000_000].map((attempt) =>
      backoffMs(attempt, { fraction: () => fraction, uniqueId: () => '' }),
    );

  it('doubles from a quarter of a second to fifteen seconds, less at most a half by jitter', () => {
    expect(waits(1)).toEqual([250, 500, 1_000, 15_000, 15_000, 15_000]);
    expect(waits(0)).toEqual([125, 250, 500, 7_500, 7_500, 7_500]);
  });

  it('at a peer that is gone is at most a second, two with 1,000 gone that refuse, and more only with more', () => {
    const gone = [1, 166, 333, 600, 1_000, 1_200, 100_000];
    expect(gone.map((count) => returnWaitMs(count, 'connect'))).toEqual([
      1_000, 1_000, 1_998, 3_600, 6_000, 7_200, 15_000,
    ]);
    expect(gone.map((count) => Math.round(returnWaitMs(count, 'knock')))).toEqual([
      1_000, 1_000, 1_000, 1_000, 1_667, 2_000, 15_000,
    ]);
    const random = { fraction: () => 1, uniqueId: () => '' };
    expect([1, 3, 99].map((attempt) => backoffMs(attempt, random, returnWaitMs(1, 'knock')))).toEqual([
      250, 1_000, 1_000,
    ]);
  });
});

describe('the budget of a worker', () => {
  it('lets forty messages pass immediately, then twenty a second', () => {
    const budget = new MessageBudget();
    const waits = Array.from({ length: 42 }, () => budget.take(0, 100));
    expect(waits.slice(0, 40)).toEqual(Array(40).fill(0));
    expect(waits.slice(40)).toEqual([50, 100]);
    expect(budget.take(100, 100)).toBe(50);
  });

  it('counts bytes as well: two megabytes immediately, then one a second', () => {
    const budget = new MessageBudget();
    const half = 512 * 1024;
    expect(Array.from({ length: 5 }, () => budget.take(0, half))).toEqual([0, 0, 0, 0, 500]);
  });

  it('does not save up what a quiet worker left unused', () => {
    const budget = new MessageBudget();
    budget.take(0, 1);
    const waits = Array.from({ length: 41 }, () => budget.take(3_600_000, 1));
    expect(waits.filter((waitMs) => waitMs > 0)).toHaveLength(1);
  });
});
