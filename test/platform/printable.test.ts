import { expect, it } from 'vitest';
import { onOneLine, withoutControls } from '../../src/platform/printable.js';

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
