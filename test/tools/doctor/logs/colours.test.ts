import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ColouredBytes,
  haveBareColours,
  withoutBareColours,
} from '../../../../src/tools/doctor/logs/colours.js';

function without(text: string): string {
  const bytes = Buffer.from(`before\u001b[1m${text}after`);
  return new ColouredBytes(bytes).textWithout(10, bytes.length - 5, 'utf8');
}

describe('a line without colours', () => {
  it('is what a replacement of all colours leaves, wherever they stand', () => {
    const pieces = fc.oneof(
      fc.constantFrom('\u001b[0m', '\u001b[38;5;9m', '\u001b[', '\u001b', '\u001b[2K', '\u001bm', 'm'),
      fc.string({ maxLength: 9 }),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
        expect(without(text)).toBe(text.replace(/\u001b\[[0-9:;]*m/g, ''));
      }),
    );
  });

  it('has all else, and nothing of the lines around it', () => {
    expect(without('\u001b[2m2026\u001b[0m \u001b[1;38:5:9m INFO\u001b[m größer')).toBe('2026  INFO größer');
  });

  it('keeps other sequences, and one that ends nowhere', () => {
    for (const text of [
      '\u001b[2Kx',
      '\u001b]0;title\u0007x',
      '\u001bMx',
      'x\u001b[3',
      'x\u001b[',
      'x\u001b',
    ])
      expect(without(text)).toBe(text);
  });
});

describe('a line with colours whose escapes are gone', () => {
  it('is without them, whatever stands in the place of the escape', () => {
    for (const gone of ['', '\uFFFD', '^[', '\\x1b', '\\u001b', '\\033'])
      expect(
        withoutBareColours(
          `${gone}[2m2026${gone}[0m ${gone}[31mERROR${gone}[0m x${gone}[1;36m=${gone}[0;0m3`,
        ),
      ).toBe('2026 ERROR x=3');
    expect(haveBareColours(Buffer.from('[1;36m(APIServer pid=7)[0;0m INFO'))).toBe(true);
  });

  it('is left as it is where no colour ends', () => {
    for (const text of ['rate(x[5m])', 'rate(x[5m]) [31m', 'list[3]', 'a [m'])
      expect(withoutBareColours(text)).toBe(text);
    expect(haveBareColours(Buffer.from('rate(x[5m])'))).toBe(false);
  });
});
