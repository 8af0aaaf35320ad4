import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  digestOf,
  type Judgement,
  readSequence,
  SequenceWatch,
  sequenceFrame,
} from '../../../../src/worker/kv-events/readers/sequence-watch.js';

/** A watch that has accepted these batches; the digest of batch n is 100 + n. */
function after(...sequences: readonly number[]): SequenceWatch {
  const watch = new SequenceWatch();
  for (const sequence of sequences) watch.accept(sequence, 100 + sequence);
  return watch;
}

describe('a sequence watch', () => {
  const same = 0;
  const other = 1;
  it.each<readonly [string, SequenceWatch, number, number, Judgement]>([
    ['anything at first', after(), 7, same, 'first'],
    ['the one that follows', after(3), 4, same, 'next'],
    ['one that comes again', after(3, 4), 4, same, 'duplicate'],
    ['an older one that comes again', after(3, 4, 5), 3, same, 'duplicate'],
    ['one too far ahead', after(3), 5, same, 'gap'],
    ['its last number with other bytes', after(3, 4), 4, other, 'restart'],
    ['an older number with other bytes', after(3, 4), 3, other, 'restart'],
    ['a number before all that is remembered', after(3, 4), 1, same, 'past'],
  ])('takes %s for what it is', (_, watch, sequence, change, expected) => {
    expect(watch.judge(sequence, 100 + sequence + change)).toBe(expected);
  });

  it('forgets the oldest digests first', () => {
    const watch = after(...Array.from({ length: 5_000 }, (_, at) => at));
    expect(watch.judge(4_999, 5_099)).toBe('duplicate');
    expect(watch.judge(904, 1_004)).toBe('duplicate');
    expect(watch.judge(903, 1_003)).toBe('past');
    expect(watch.judge(0, 5)).toBe('past');
  });

  it('takes any later batch after its cache view was dropped, and still knows another publisher', () => {
    const watch = after(3, 4);
    watch.forgetPlace();
    expect(watch.judge(9, 109)).toBe('first');
    // The cache view would begin with what was before the drop, and lack what came after it.
    expect(watch.judge(3, 103)).toBe('duplicate');
    expect(watch.judge(0, 100)).toBe('past');
    expect(watch.judge(3, 1)).toBe('restart');
    watch.accept(9, 109);
    expect(watch.first).toBe(9);
    expect(watch.last).toBe(9);
  });

  it('takes any batch when its cache view is built from older ones, and still knows another publisher', () => {
    const watch = after(3, 4);
    watch.rewind();
    expect(watch.judge(3, 103)).toBe('first');
    expect(watch.judge(3, 1)).toBe('restart');
  });

  it('knows nothing of another publisher', () => {
    const watch = after(3, 4);
    watch.forgetPublisher();
    expect(watch.last).toBeUndefined();
    expect(watch.judge(3, 1)).toBe('first');
  });

  it('expects batch 0 of a publisher that has published nothing', () => {
    const watch = after(3, 4);
    watch.acceptNone();
    expect(watch.judge(0, 1)).toBe('next');
    expect(watch.judge(1, 1)).toBe('gap');
  });

  it('lets each batch of one publisher through once and in order, whatever is lost, repeated or late', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 200 }), (arrivals) => {
        const watch = new SequenceWatch();
        const taken: number[] = [];
        for (const sequence of arrivals) {
          const judgement = watch.judge(sequence, 100 + sequence);
          expect(judgement).not.toBe('restart');
          if (judgement !== 'first' && judgement !== 'next') continue;
          watch.accept(sequence, 100 + sequence);
          taken.push(sequence);
        }
        const from = taken[0] ?? 0;
        expect(taken).toEqual(taken.map((_, at) => from + at));
      }),
    );
  });
});

describe('a sequence frame', () => {
  it('is read as it is written', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (sequence) => {
        expect(readSequence(sequenceFrame(sequence))).toBe(sequence);
      }),
    );
  });

  it('is refused when it is no number that can be counted with', () => {
    expect(readSequence(new Uint8Array(7))).toBeUndefined();
    expect(readSequence(new Uint8Array(9))).toBeUndefined();
    expect(readSequence(Buffer.alloc(8, 0xff))).toBeUndefined();
    expect(readSequence(Buffer.from('0020000000000000', 'hex'))).toBeUndefined();
    expect(readSequence(Buffer.from('001fffffffffffff', 'hex'))).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('a digest', () => {
  it('is the same for the same bytes and another for others', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 1, maxLength: 64 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (bytes, at, by) => {
          const other = Uint8Array.from(bytes);
          other[at % bytes.length] = (other[at % bytes.length] as number) ^ by;
          expect(digestOf(Uint8Array.from(bytes))).toBe(digestOf(bytes));
          expect(digestOf(other)).not.toBe(digestOf(bytes));
        },
      ),
    );
    expect(digestOf(new Uint8Array(4))).not.toBe(digestOf(new Uint8Array(5)));
  });
});
