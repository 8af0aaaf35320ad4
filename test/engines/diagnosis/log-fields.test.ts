import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numberBetween, numberOf } from '../../../src/engines/diagnosis/log-fields.js';

describe('a number of a line', () => {
  it('is what its text is parsed as, whatever its length and fraction', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789.'), minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, (digits) => {
        const value = Number(digits);
        expect(numberOf(digits)).toBe(Number.isNaN(value) ? undefined : value);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['', '-1', 'NaN', 'one'])('is not in %j', (text) => {
    expect(numberOf(text)).toBeUndefined();
  });

  it('stands between a phrase and a unit, the first that has both', () => {
    expect(numberBetween('usage: x, usage: 5 GB, usage: 98.1%', 'usage: ', '%')).toBe(98.1);
    expect(numberBetween('Running: 3 reqs', 'Running: ', ' reqs')).toBe(3);
    expect(numberBetween('usage: 1.%', 'usage: ', '%')).toBeUndefined();
    expect(numberBetween('usage: %', 'usage: ', '%')).toBeUndefined();
    expect(numberBetween('nothing', 'usage: ', '%')).toBeUndefined();
  });
});
