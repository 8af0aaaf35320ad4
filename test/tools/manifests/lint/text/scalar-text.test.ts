import { describe, expect, it } from 'vitest';
import { scalarText } from '../../../../../src/tools/manifests/lint/text/scalar-text.js';
import { textAt } from '../../../../../src/tools/manifests/lint/text/span.js';
import { readSourceFile } from '../../../../../src/tools/manifests/source-file.js';
import { YamlAccess } from '../../../../../src/tools/manifests/yaml-access.js';

/** What is written where a word of the value of `a` stands. */
function writtenAt(yaml: string, word: string): { text: string; isExact: boolean; at: string } {
  const file = readSourceFile('x.yaml', yaml);
  const [document] = file.documents;
  if (document === undefined) {
    throw new Error('no document');
  }
  const placed = new YamlAccess(document).text(document.contents as never, 'a');
  if (placed === undefined) {
    throw new Error('no a');
  }
  const inner = scalarText(file, placed);
  const start = inner.value.indexOf(word);
  expect(start).toBeGreaterThanOrEqual(0);
  const span = inner.spanOf(start, start + word.length);
  const { line, column } = file.placeOf(span.start);
  return { text: textAt(span), isExact: span.isExact, at: `${line}:${column}` };
}

describe('places of what a YAML scalar holds', () => {
  it.each([
    ['plain', 'a: vllm serve --block-size 32\n', '1:28'],
    ['a plain scalar of several lines', 'a: vllm serve\n  --block-size\n  32\n', '3:3'],
    ['single quotes', "a: 'it''s --block-size 32'\n", '1:24'],
    ['double quotes', 'a: "x --block-size 32"\n', '1:20'],
    ['double quotes with escapes', 'a: "say \\"x\\" \\\\ \\n --block-size 32"\n', '1:34'],
    ['double quotes over lines', 'a: "x \\\n  --block-size\n  32"\n', '3:3'],
    ['a literal block', 'a: |\n  x\n  --block-size \\\n    32\n', '4:5'],
    ['a literal block that is stripped and indented', 'a: |2-\n     --block-size 32\n', '2:19'],
    ['a literal block with a comment behind its header', 'a: |  # 32\n  --block-size 32\n', '2:16'],
    ['a folded block', 'a: >-\n  x\n  --block-size\n\n  32\n', '5:3'],
    ['an alias', 'b: &b --block-size 32\na: *b\n', '1:20'],
    ['a number', 'a: 32\n', '1:4'],
  ])('are exact in %s', (_name, yaml, at) => {
    expect(writtenAt(yaml, '32')).toEqual({ text: '32', isExact: true, at });
  });

  it('are those of the whole scalar where an escape cannot be followed', () => {
    expect(writtenAt('a: "\\x41 32"\n', '32')).toMatchObject({ isExact: false, at: '1:4' });
  });

  it('are not exact where quotes stand between', () => {
    expect(writtenAt("a: 'it''s 32'\n", "it's 32")).toMatchObject({ isExact: false });
  });
});
