import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatheredBytes } from '../../../../src/edge/platform/data/gathered-bytes.js';

describe('gathered bytes', () => {
  it('are those that came, whatever the lengths of the pieces, also when they are read in between', () => {
    const lengths = fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 5 }) }, fc.nat({ max: 10_000 }));
    void fc.assert(
      fc.property(fc.array(fc.tuple(lengths, fc.boolean()), { maxLength: 60 }), (all) => {
        const gathered = new GatheredBytes();
        let expected = Buffer.alloc(0);
        for (const [length, reads] of all) {
          const piece = Buffer.alloc(length, expected.length % 251);
          expected = Buffer.concat([expected, piece]);
          gathered.add(piece);
          expect(gathered.bytes).toBe(expected.length);
          if (!reads) continue;
          expect(gathered.whole().equals(expected)).toBe(true);
          expect(gathered.within(Buffer.alloc(20_000)).equals(expected)).toBe(true);
        }
        expect(gathered.whole().equals(expected)).toBe(true);
      }),
    );
  });

  it('take no more than about twice their number, in pieces of one byte', () => {
    const gathered = new GatheredBytes();
    const piece = Buffer.from('x');
    const before = process.memoryUsage();
    for (let count = 0; count < 4_000_000; count += 1) gathered.add(piece);
    const { heapUsed, external } = process.memoryUsage();
    expect(heapUsed - before.heapUsed + external - before.external).toBeLessThan(16_000_000);
    expect(gathered.whole().length).toBe(4_000_000);
  });

  it('of one piece are not copied, unless it is a small part of a large buffer', () => {
    const gatheredOf = (piece: Buffer): Buffer => {
      const gathered = new GatheredBytes();
      gathered.add(piece);
      return gathered.whole();
    };
    const piece = Buffer.alloc(2_000);
    expect(gatheredOf(piece)).toBe(piece);
    const view = Buffer.alloc(2_000).subarray(0, 100);
    expect(gatheredOf(view).buffer).not.toBe(view.buffer);
    expect(gatheredOf(view).equals(view)).toBe(true);
  });
});
