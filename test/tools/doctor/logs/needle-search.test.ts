import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NeedleSearch } from '../../../../src/tools/doctor/logs/needle-search.js';

/** Every place that is found, with what is found there. */
function allOf(needles: readonly string[], text: string): [number, number[]][] {
  const search = new NeedleSearch(needles);
  const bytes = Buffer.from(text, 'latin1');
  const places: [number, number[]][] = [];
  for (let at = search.next(bytes, 0, bytes.length); at < bytes.length; ) {
    places.push([at, [...search.found].sort()]);
    at = search.next(bytes, at + 1, bytes.length);
  }
  return places;
}

function slowly(needles: readonly string[], text: string): [number, number[]][] {
  return [...text].flatMap((_, at): [number, number[]][] => {
    const found = needles.flatMap((needle, index) => (text.startsWith(needle, at) ? [index] : []));
    return found.length === 0 ? [] : [[at, found]];
  });
}

describe('the search for needles', () => {
  it('finds each where it begins, and all that begin there', () => {
    expect(allOf(['abc', 'abcd', 'cab'], 'xabcabcd')).toEqual([
      [1, [0]],
      [3, [2]],
      [4, [0, 1]],
    ]);
  });

  it('finds what ends with the bytes, and nothing beyond them', () => {
    const search = new NeedleSearch(['needle']);
    const bytes = Buffer.from('a needle');
    expect(search.next(bytes, 0, 8)).toBe(2);
    expect(search.next(bytes, 0, 7)).toBe(7);
    expect(search.found).toEqual([]);
  });

  it('refuses needles that are too short to be distinguished', () => {
    expect(() => new NeedleSearch(['ab'])).toThrow(RangeError);
  });

  it('finds the same as a slow search', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 3, maxLength: 6 });
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 });
    fc.assert(
      fc.property(fc.uniqueArray(letters, { minLength: 1, maxLength: 8 }), texts, (needles, text) => {
        expect(allOf(needles, text)).toEqual(slowly(needles, text));
      }),
    );
  });
});
