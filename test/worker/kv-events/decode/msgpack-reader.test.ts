import { Decoder, Encoder, ExtData } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MsgpackReader, UnreadableError } from '../../../../src/worker/kv-events/decode/msgpack-reader.js';

/** This one writes numbers beyond 2^32 as integers, not as floats. */
const NUMBER_ENCODER = new Encoder();
const ENCODER = new Encoder({ useBigInt64: true });

/** One that takes every key and every extension, as going over them does. */
const DECODER = new Decoder({
  useBigInt64: true,
  mapKeyConverter: () => 'key',
  extensionCodec: { tryToEncode: () => null, decode: () => null, __brand: 'context' } as never,
});

function readerOf(bytes: Uint8Array | readonly number[]): MsgpackReader {
  const reader = new MsgpackReader();
  reader.open(Uint8Array.from(bytes));
  return reader;
}

/** The `lo` and `hi` of the last reading as one number. */
function wide(reader: MsgpackReader): bigint {
  return (BigInt(reader.hi) << 32n) | BigInt(reader.lo);
}

const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.string({ unit: 'grapheme' }),
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 40 }).map((data) => new ExtData(7, data)),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 20 }),
  ),
})).value;

describe('reading msgpack', () => {
  it('goes over any value exactly', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const bytes = ENCODER.encode(value);
        const reader = readerOf([...bytes, 0x2a]);
        reader.skip();
        expect(reader.readInteger()).toBe(42);
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  it('reads every integer in each of its forms, and wide ones to the last bit', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), (integer) => {
        const reader = readerOf(ENCODER.encode(integer));
        reader.readHash();
        expect(wide(reader)).toBe(BigInt.asUintN(64, integer));
      }),
    );
    fc.assert(
      fc.property(fc.maxSafeInteger(), (integer) => {
        expect(readerOf(NUMBER_ENCODER.encode(integer)).readInteger()).toBe(integer);
        const reader = readerOf(NUMBER_ENCODER.encode(integer));
        reader.readWide();
        expect(wide(reader)).toBe(BigInt.asUintN(64, BigInt(integer)));
      }),
    );
  });

  it('takes the last eight bytes of a hash of bytes, and fewer as they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), (bytes) => {
        const reader = readerOf(ENCODER.encode(bytes));
        reader.readHash();
        const hex = Buffer.from(bytes.slice(-8)).toString('hex');
        expect(wide(reader)).toBe(BigInt(`0x${hex}`));
        expect(reader.remaining).toBe(0);
      }),
    );
    expect(() => readerOf([0xc4, 0]).readHash()).toThrow(UnreadableError);
  });

  it('reads token ids of all widths', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff_ffff })), (tokens) => {
        const reader = readerOf(ENCODER.encode(tokens));
        const target = new Uint32Array(reader.readArrayHeader());
        reader.readUint32s(target.length, target);
        expect([...target]).toEqual(tokens);
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  it('says where the first of token ids is that is none, and goes on', () => {
    const wide = fc.oneof(
      fc.bigInt({ min: 2n ** 32n, max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -(2n ** 63n), max: -1n }),
    );
    const some = fc.array(fc.oneof(fc.nat(0xffff_ffff), wide));
    fc.assert(
      fc.property(some, (tokens) => {
        const reader = readerOf(ENCODER.encode(tokens));
        const target = new Uint32Array(reader.readArrayHeader());
        const first = tokens.findIndex((id) => typeof id === 'bigint');
        expect(reader.readUint32s(target.length, target)).toBe(
          first === -1 ? Number.POSITIVE_INFINITY : first,
        );
        expect([...target]).toEqual(tokens.map((id) => (typeof id === 'bigint' ? 0 : id)));
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  it('reads strings and floats', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true }), (text, number) => {
        const reader = readerOf([...ENCODER.encode(text), ...ENCODER.encode(number)]);
        expect(reader.readString(10_000)).toBe(text);
        expect(reader.readNumber() === number).toBe(true);
      }),
    );
    expect(readerOf([0xca, 0x3f, 0x80, 0, 0]).readNumber()).toBe(1);
  });
});

describe('msgpack that lies', () => {
  it.each([
    ['an array of 4 billion items', [0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]],
    ['a map of 4 billion keys', [0xdf, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]],
    ['a map of as many keys as there are bytes', [0x83, 1, 2, 3]],
    ['a string of 4 GiB', [0xdb, 0xff, 0xff, 0xff, 0xff, 1]],
    ['bytes of 4 GiB', [0xc6, 0xff, 0xff, 0xff, 0xff, 1]],
    ['an extension of 4 GiB', [0xc9, 0xff, 0xff, 0xff, 0xff, 1, 1]],
    ['half an integer', [0xcf, 1, 2, 3]],
    ['a byte that stands for nothing', [0xc1]],
    ['nothing', []],
    ['an array nested 20 deep', [...new Array(20).fill(0x91), 1]],
  ])('%s is refused', (_, bytes) => {
    expect(() => readerOf(bytes).skip()).toThrow(UnreadableError);
  });

  it('never throws anything else, and never reads past its end', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const reader = readerOf(bytes);
        let refused: unknown;
        try {
          reader.skip();
        } catch (error) {
          refused = error;
        }
        if (refused === undefined) {
          expect(() => DECODER.decode(bytes.slice(0, reader.offset))).not.toThrow();
        } else expect(refused).toBeInstanceOf(UnreadableError);
        expect(reader.offset).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 2_000 },
    );
  });

  it('refuses what is not of the type that was asked for', () => {
    const reads: ((reader: MsgpackReader) => unknown)[] = [
      (reader) => reader.readArrayHeader(),
      (reader) => reader.readMapHeader(),
      (reader) => reader.readString(10),
      (reader) => reader.readNumber(),
      (reader) => reader.readUint32(),
      (reader) => reader.readHash(),
      (reader) => reader.readUint32s(1, new Uint32Array(1)),
    ];
    for (const read of reads) {
      expect(() => read(readerOf([0xc3]))).toThrow(UnreadableError);
      expect(() => read(readerOf([]))).toThrow(UnreadableError);
    }
    expect(() => readerOf([0xff]).readUint32()).toThrow(UnreadableError);
    expect(() => readerOf([0xa3, 1, 2, 3]).readString(2)).toThrow(UnreadableError);
  });
});
