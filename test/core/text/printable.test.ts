import { expect, it } from 'vitest';
import {
  hasUnprintable,
  jsonText,
  onOneLine,
  printableJson,
  withEscapes,
  withoutControls,
} from '../../../src/core/text/printable.js';

it.each([
  ['an escape sequence', 'a\u001b[2Jb', 'a\ufffd[2Jb'],
  ['its form in one character', 'a\u009b2Jb', 'a\ufffd2Jb'],
  ['a bell and a backspace', '\u0007\u0008', '\ufffd\ufffd'],
  ['a carriage return', 'a\rb', 'a\ufffdb'],
  ['a turn of the writing', 'a\u202eb\u2066c', 'a\ufffdb\ufffdc'],
  ['line feeds and tabs', 'a\n\tb', 'a\n\tb'],
  ['words of any language', 'größe 块 🙂', 'größe 块 🙂'],
])('%s', (_, text, clean) => {
  expect(withoutControls(text)).toBe(clean);
});

it('one line is one line, and no longer than asked', () => {
  expect(onOneLine(' a\r\n  b\tc\u0000 ')).toBe('a b c\ufffd');
  expect(onOneLine('abcdef', 3)).toBe('abc…');
  expect(onOneLine('abc', 3)).toBe('abc');
});

/** What names, logs and pages have been steered by. */
const STEERING = [
  '\u001b',
  '\u0085',
  '\u009b',
  '\u061c',
  '\u200b',
  '\u200d',
  '\u200e',
  '\u200f',
  '\u2028',
  '\u2029',
  '\u202a',
  '\u202e',
  '\u2060',
  '\u2066',
  '\u2069',
  '\ufeff',
  '\ud800',
  '\udc00',
  '\u{e0041}',
];

it.each(STEERING)('%j is shown nowhere, and is lost nowhere where a program reads it', (character) => {
  const text = `a${character}b`;
  expect(hasUnprintable(text)).toBe(true);
  expect(withoutControls(text)).toBe('a\ufffdb');
  for (const escaped of [jsonText(text), printableJson(JSON.stringify(text)), `"${withEscapes(text)}"`]) {
    expect(hasUnprintable(escaped)).toBe(false);
    expect(JSON.parse(escaped)).toBe(text);
  }
});

it('a name may have no line feed and no tab either', () => {
  expect([hasUnprintable('a\nb'), hasUnprintable('a\tb'), hasUnprintable('größe 块 🙂')]).toEqual([
    true,
    true,
    false,
  ]);
});

it('JSON keeps its own layout', () => {
  expect(jsonText({ a: 'x\u009b' }, 2)).toBe('{\n  "a": "x\\u009b"\n}');
});
