import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/edge/platform/random.js';

function draws(seed: number, count: number): number[] {
  const { fraction } = seededRandom(seed);
  return Array.from({ length: count }, () => fraction());
}

describe('seeded draws', () => {
  it('are the same for the same seed, and others for another', () => {
    expect(draws(7, 100)).toEqual(draws(7, 100));
    expect(draws(7, 100)).not.toEqual(draws(8, 100));
  });

  it.each([0, 1, 4_294_967_295])('lie evenly from 0 to below 1 with the seed %d', (seed) => {
    const counts = new Array<number>(10).fill(0);
    const all = draws(seed, 100_000);
    expect(all.filter((drawn) => !(drawn >= 0 && drawn < 1))).toEqual([]);
    for (const drawn of all) {
      counts[Math.floor(10 * drawn)] = (counts[Math.floor(10 * drawn)] ?? 0) + 1;
    }
    // Four standard deviations of a tenth of 100,000.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(4 * 95);
  });
});
