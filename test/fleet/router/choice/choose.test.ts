import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { draw, weighCheapest, weighEvenly, weighSoftly } from '../../../../src/fleet/router/choice/choose.js';

const DRAWS = 20_000;

/** What `weigh` makes of costs, normalised. */
function chances(
  costs: readonly number[],
  weigh: (costs: Float64Array, count: number, weights: Float64Array) => number,
): number[] {
  // More room than is used, with what an earlier decision left in it.
  const weights = new Float64Array(costs.length + 3).fill(9);
  const sum = weigh(Float64Array.from([...costs, -1, -1, -1]), costs.length, weights);
  return [...weights.subarray(0, costs.length)].map((weight) => weight / sum);
}

function softly(temperature: number) {
  return (costs: Float64Array, count: number, weights: Float64Array) =>
    weighSoftly(costs, count, temperature, weights);
}

/** Pearson's statistic of draws against their chances; those of chance 0 must not be drawn. */
function chiSquare(probabilities: readonly number[], seed: number): number {
  const weights = Float64Array.from(probabilities, (chance) => 3 * chance);
  const random = seededRandom(seed);
  const drawn = probabilities.map(() => 0);
  for (let n = 0; n < DRAWS; n += 1) {
    const at = draw(weights, weights.length, 3, random.fraction());
    drawn[at] = (drawn[at] ?? 0) + 1;
  }
  let statistic = 0;
  for (const [at, chance] of probabilities.entries()) {
    const expected = chance * DRAWS;
    if (chance === 0) expect(drawn[at]).toBe(0);
    else statistic += ((drawn[at] ?? 0) - expected) ** 2 / expected;
  }
  return statistic;
}

describe('temperature 0', () => {
  it('takes the cheapest', () => {
    expect(chances([3, 1, 2], weighCheapest)).toEqual([0, 1, 0]);
    expect(chances([-1], weighCheapest)).toEqual([1]);
  });

  it('takes each of those that are equally cheap as often', () => {
    expect(chances([2, 1, 5, 1, 1], weighCheapest)).toEqual([0, 1 / 3, 0, 1 / 3, 1 / 3]);
  });

  it('lets a second cost decide among equals, and only there', () => {
    const seconds = Float64Array.of(0, 7, 3, 3);
    const chancesOf = (costs: readonly number[]) =>
      chances(costs, (all, count, weights) => weighCheapest(all, count, weights, seconds));
    expect(chancesOf([2, 1, 1, 1])).toEqual([0, 0, 0.5, 0.5]);
    expect(chancesOf([2, 1, 1.5, 1.5])).toEqual([0, 1, 0, 0]);
  });

  it('draws ties evenly', () => {
    // 99.9 % of the distribution with four degrees of freedom.
    expect(chiSquare(chances([1, 1, 9, 1, 1, 1], weighCheapest), 1)).toBeLessThan(18.5);
  });
});

describe('temperatures above 0', () => {
  it('follow exp(-(c - min) / ((max - min) * T))', () => {
    const raw = [1, Math.exp(-0.5 / 0.7), Math.exp(-1 / 0.7)];
    const sum = raw.reduce((a, b) => a + b);
    const expected = raw.map((weight) => weight / sum);
    for (const [at, chance] of chances([10, 20, 30], softly(0.7)).entries())
      expect(chance).toBeCloseTo(expected[at] ?? 0, 12);
  });

  it('treat all alike when all cost the same', () => {
    expect(chances([4, 4, 4, 4], softly(0.3))).toEqual([0.25, 0.25, 0.25, 0.25]);
  });

  it('never come to anything but chances, however small or large', () => {
    for (const temperature of [Number.MIN_VALUE, 1e-9, 1, 1e300, Number.POSITIVE_INFINITY]) {
      for (const costs of [[0, 1, 2], [1e300, -1e300, 0], [0, Number.MIN_VALUE], [5]]) {
        const all = chances(costs, softly(temperature));
        expect(all.every((chance) => chance >= 0 && chance <= 1)).toBe(true);
        expect(all.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
      }
    }
  });

  it('are drawn as often as they are likely', () => {
    const probabilities = chances([10, 12, 15, 15, 30], softly(0.5));
    expect(chiSquare(probabilities, 2)).toBeLessThan(18.5);
  });

  it('become even as they rise', () => {
    const [coldest, warmest] = [0.1, 10].map((temperature) => chances([1, 2], softly(temperature)));
    expect(coldest?.[0]).toBeGreaterThan(0.99);
    expect(warmest?.[0]).toBeLessThan(0.53);
  });
});

describe('whatever the costs', () => {
  const costs = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 20 });
  const temperature = fc.double({ min: 0.01, max: 100, noNaN: true });

  it('who costs less is not chosen less often, and the order of the list does not matter', () => {
    fc.assert(
      fc.property(costs, temperature, (list, degree) => {
        const inOrder = chances(list, softly(degree));
        const reversed = chances([...list].reverse(), softly(degree)).reverse();
        for (const [at, cost] of list.entries()) {
          expect(reversed[at]).toBeCloseTo(inOrder[at] as number, 9);
          for (const [other, dearer] of list.entries())
            if (cost < dearer) expect(inOrder[at]).toBeGreaterThanOrEqual(inOrder[other] as number);
        }
      }),
    );
  });

  it('a draw is a rank that can be drawn', () => {
    fc.assert(
      fc.property(costs, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (list, fraction) => {
        const weights = new Float64Array(list.length);
        const sum = weighCheapest(Float64Array.from(list), list.length, weights);
        const at = draw(weights, list.length, sum, fraction);
        expect(list[at]).toBe(Math.min(...list));
        expect(draw(weights, list.length, weighEvenly(list.length, weights), fraction)).toBe(
          Math.min(list.length - 1, Math.floor(fraction * list.length)),
        );
      }),
    );
  });
});
