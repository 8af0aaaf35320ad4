import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Comparison } from '../../../../src/fleet/router/results/compare.js';
import {
  NO_RESULTS,
  ResultWindow,
  WINDOW_MS,
  WINDOW_REQUESTS,
} from '../../../../src/fleet/router/results/result-window.js';

const amount = fc.integer({ min: 0, max: 4 * 1024 * 1024 });
const step = fc.record({
  passedMs: fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: 2 * WINDOW_MS })),
  comparison: fc.record<Comparison>({
    predictedTokens: amount,
    reportedTokens: amount,
    overTokens: amount,
    underTokens: amount,
    isOtherPrompt: fc.boolean(),
  }),
  contradicts: fc.boolean(),
  clears: fc.integer({ min: 0, max: 40 }).map((n) => n === 0),
});

it('a window holds the last requests of the last minutes, whatever comes when', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const window = new ResultWindow();
      let all: { atMs: number; comparison: Comparison; contradicts: boolean }[] = [];
      let nowMs = 0;
      for (const { passedMs, comparison, contradicts, clears } of steps) {
        nowMs += passedMs;
        if (clears) {
          window.clear();
          all = [];
        }
        window.add(comparison, contradicts, nowMs);
        all.push({ atMs: nowMs, comparison, contradicts });
        const expected = all.filter(({ atMs }) => nowMs - atMs < WINDOW_MS).slice(-WINDOW_REQUESTS);
        const sum = (read: (one: (typeof all)[number]) => number): number =>
          expected.reduce((total, one) => total + read(one), 0);
        expect(window.counts(nowMs)).toEqual({
          requests: expected.length,
          predictedTokens: sum((one) => one.comparison.predictedTokens),
          reportedTokens: sum((one) => one.comparison.reportedTokens),
          overTokens: sum((one) => one.comparison.overTokens),
          underTokens: sum((one) => one.comparison.underTokens),
          contradictions: sum((one) => (one.contradicts ? 1 : 0)),
          otherPrompts: sum((one) => (one.comparison.isOtherPrompt ? 1 : 0)),
        });
      }
      expect(window.counts(nowMs + WINDOW_MS)).toEqual(NO_RESULTS);
    }),
  );
});
