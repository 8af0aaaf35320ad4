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

  it('finds each where it begins, whatever part of it a sample makes it look for', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 4, maxLength: 9 });
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 60 });
    fc.assert(
      fc.property(
        fc.uniqueArray(letters, { minLength: 1, maxLength: 8 }),
        texts,
        texts,
        (needles, sample, text) => {
          const search = new NeedleSearch(needles, Buffer.from(sample));
          const bytes = Buffer.from(text);
          const places: string[] = [];
          for (let at = search.next(bytes, 0, bytes.length); at < bytes.length; ) {
            places.push(...search.found.map((index) => `${search.startOf(index, at)} ${index}`));
            at = search.next(bytes, at + 1, bytes.length);
          }
          const all = slowly(needles, text).flatMap(([at, found]) => found.map((index) => `${at} ${index}`));
          expect(places.sort()).toEqual(all.sort());
        },
      ),
    );
  });

  it('looks for the part of a needle that a sample has least of', () => {
    const bytes = Buffer.from('a worker lost');
    const search = new NeedleSearch(['worker lost', 'abcd'], Buffer.from('worker worker '));
    const at = search.next(bytes, 0, bytes.length);
    expect(at).toBe(bytes.indexOf('er l'));
    expect(search.startOf(0, at)).toBe(2);
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
