import fc from 'fast-check';
import { parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { JsonBoundsError } from '../../../../src/edge/platform/data/bounded-json.js';
import { parseExactJson } from '../../../../src/worker/kv-events/decode/exact-json.js';

describe('JSON with large numbers', () => {
  it('keeps all digits of whole numbers, and reads everything else as it stands', () => {
    const text =
      '{"a":18446744073709551615,"b":[ -9223372036854775808 ,1234567890123456],"c":123456789012345,"d":"18446744073709551615,","e":0.12345678901234567,"f":1e2,"g":12345678901234567.5,"h":12345678901234567e1,"i":1.5e12345678901234567}';
    expect(parseExactJson(text)).toEqual({
      a: '18446744073709551615',
      b: ['-9223372036854775808', '1234567890123456'],
      c: 123456789012345,
      d: '18446744073709551615,',
      e: Number('0.12345678901234567'),
      f: 100,
      g: Number('12345678901234567.5'),
      h: Number('12345678901234567e1'),
      i: Number.POSITIVE_INFINITY,
    });
  });

  it('gives the digits that a lossless parser gives, whatever stands around them', () => {
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }),
        fc.string({ unit: fc.constantFrom('1234567890123456', '\\', '"', ',', '[', '-') }),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
      ),
    }));
    const write = (one: unknown): string => {
      if (typeof one === 'bigint') return String(one);
      if (Array.isArray(one)) return `[ ${one.map(write).join(' ,')}]`;
      if (typeof one !== 'object' || one === null) return JSON.stringify(one);
      const members = Object.entries(one).map(([key, inner]) => `${JSON.stringify(key)}:${write(inner)}`);
      return `{${members.join()}}`;
    };
    fc.assert(
      fc.property(value, (made) => {
        const text = write(made);
        const exact = parse(text, undefined, (digits) =>
          digits.length - (digits[0] === '-' ? 1 : 0) > 15 ? digits : Number(digits),
        );
        expect(parseExactJson(text)).toEqual(exact);
      }),
    );
  });

  it('refuses what would take more memory than a sidecar has', () => {
    expect(() => parseExactJson(`[${'0,'.repeat(4_000_000)}0]`)).toThrow(JsonBoundsError);
    expect(() => parseExactJson('['.repeat(1_000))).toThrow(JsonBoundsError);
    expect(() => parseExactJson(`[${'[],'.repeat(2_000_000)}0]`)).toThrow(JsonBoundsError);
  });
});
