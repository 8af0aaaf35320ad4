import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnorderedSet } from '../../../../src/edge/platform/data/unordered-set.js';

class Thing {
  place = -1;
}

describe('an unordered set', () => {
  it('holds what a set would hold, whatever comes and goes', () => {
    const moves = fc.array(fc.tuple(fc.nat({ max: 9 }), fc.boolean()), { maxLength: 100 });
    void fc.assert(
      fc.property(moves, (all) => {
        const things = Array.from({ length: 10 }, () => new Thing());
        const unordered = new UnorderedSet<Thing>();
        const set = new Set<Thing>();
        for (const [at, comes] of all) {
          const thing = things[at] as Thing;
          if (comes && !set.has(thing)) {
            unordered.add(thing);
            set.add(thing);
          } else {
            unordered.delete(thing);
            set.delete(thing);
          }
          expect(unordered.size).toBe(set.size);
          expect(new Set(unordered.snapshot())).toEqual(set);
        }
      }),
    );
  });

  it('shows who is there also while they leave', () => {
    const unordered = new UnorderedSet<Thing>();
    const things = [new Thing(), new Thing(), new Thing()];
    for (const thing of things) unordered.add(thing);
    for (const thing of unordered.snapshot()) unordered.delete(thing);
    expect(unordered.size).toBe(0);
  });
});
