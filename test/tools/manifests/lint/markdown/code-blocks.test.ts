import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCodeBlocks } from '../../../../../src/tools/manifests/lint/markdown/code-blocks.js';

describe('blocks of code in Markdown', () => {
  it('are read with their language, their place and what is said around them', () => {
    const text = 'Before it.\n\n```YAML\na: 1\nb: 2\n```\n\nAfter it.\n';
    const [block] = readCodeBlocks(text);
    expect(block).toMatchObject({ language: 'yaml', before: 'Before it.', after: 'After it.' });
    expect(text.slice(block?.start, block?.end)).toBe('a: 1\nb: 2\n');
    expect(text.slice(0, block?.blockEnd)).toMatch(/```$/);
  });

  it('are found inside of lists and quotes, and without an end', () => {
    const text = '- item\n\n  ~~~sh\n  a\n  ~~~\n\n> ```\n> b\n> ```\n\n````\nc\n```\n';
    const codes = readCodeBlocks(text).map(({ start, end }) => text.slice(start, end));
    expect(codes).toEqual(['  a\n', '> b\n', 'c\n```\n']);
  });

  it('have nothing around them where there is a heading or other code', () => {
    const [first, second] = readCodeBlocks('# Title\n\n```\na\n```\n\n```\nb\n```\n');
    expect([first?.before, first?.after, second?.before, second?.after]).toEqual(['', '', '', '']);
  });

  it('are read from any text without an error, and lie inside of it in order', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('`', '~', '\n', ' ', '>', '-', 'a', '\r', '#') }),
        (text) => {
          let last = 0;
          for (const { start, end, blockEnd } of readCodeBlocks(text)) {
            expect(start).toBeGreaterThanOrEqual(last);
            expect(end).toBeGreaterThanOrEqual(start);
            expect(blockEnd).toBeLessThanOrEqual(text.length);
            last = start;
          }
        },
      ),
    );
  });
});
