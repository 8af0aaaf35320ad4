import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DoubtGauge, FIRST_CLEAN_REQUESTS } from '../../../../src/fleet/router/results/doubt-gauge.js';
import { ResultWindow } from '../../../../src/fleet/router/results/result-window.js';

/** A gauge with its window, as a book keeps them. */
class Gauged {
  readonly gauge = new DoubtGauge();
  readonly #window = new ResultWindow();
  turns = 0;

  /** One request of `tokens`, of which so many were wrong. */
  add(wrongTokens: number, tokens = 320): void {
    const contradicts = wrongTokens > 0;
    const comparison = {
      predictedTokens: tokens,
      reportedTokens: tokens - wrongTokens,
      overTokens: wrongTokens,
      underTokens: 0,
      isOtherPrompt: false,
    };
    this.#window.add(comparison, contradicts, 0);
    if (!this.gauge.add(contradicts, this.#window.counts(0))) return;
    this.turns += 1;
    if (!this.gauge.isDoubted) this.#window.clear();
  }
}

describe('a doubt', () => {
  it('is raised by the fifth request that contradicts, and not by one odd request or its retries', () => {
    const gauged = new Gauged();
    for (let n = 0; n < 4; n += 1) gauged.add(320);
    for (let n = 0; n < 200; n += 1) gauged.add(0);
    for (let n = 0; n < 4; n += 1) gauged.add(320);
    expect(gauged.gauge.isDoubted).toBe(false);
    gauged.add(320);
    expect(gauged.gauge.isDoubted).toBe(true);
  });

  it('is not raised by what costs next to nothing', () => {
    const gauged = new Gauged();
    for (let n = 0; n < 200; n += 1) gauged.add(n % 5 === 0 ? 16 : 0, 3_200);
    expect(gauged.turns).toBe(0);
  });

  it('ends after twenty requests in a row that agree', () => {
    const gauged = new Gauged();
    for (let n = 0; n < 5; n += 1) gauged.add(320);
    for (let n = 0; n < FIRST_CLEAN_REQUESTS - 1; n += 1) gauged.add(0);
    expect(gauged.gauge.missingRequests).toBe(1);
    gauged.add(32);
    expect(gauged.gauge.missingRequests).toBe(FIRST_CLEAN_REQUESTS);
    for (let n = 0; n < FIRST_CLEAN_REQUESTS; n += 1) gauged.add(0);
    expect(gauged.gauge.isDoubted).toBe(false);
    expect(gauged.gauge.missingRequests).toBe(0);
  });

  it('cannot flap: each time it takes longer to end, up to a bound', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })), (draws) => {
        const gauged = new Gauged();
        const length = 4_000;
        for (let n = 0; n < length; n += 1) gauged.add((draws.next().value as number) < 0.1 ? 320 : 0);
        expect(gauged.turns).toBeLessThan(60);
      }),
      { numRuns: 30 },
    );
  });

  it('follows its rule, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, 0, 0, 32, 320), { maxLength: 400 }), (requests) => {
        const gauged = new Gauged();
        let clean = 0;
        for (const wrong of requests) {
          const before = gauged.gauge.isDoubted;
          gauged.add(wrong);
          clean = wrong > 0 ? 0 : clean + 1;
          const { isDoubted } = gauged.gauge;
          if (isDoubted && !before) expect(wrong).toBeGreaterThan(0);
          if (before && !isDoubted) expect(clean).toBeGreaterThanOrEqual(FIRST_CLEAN_REQUESTS);
        }
      }),
    );
  });
});
