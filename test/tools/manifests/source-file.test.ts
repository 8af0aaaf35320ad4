import { describe, expect, it } from 'vitest';
import { readSourceFile } from '../../../src/tools/manifests/source-file.js';

function problemsOf(text: string): readonly string[] {
  return readSourceFile('x.yaml', text).problems.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  );
}

describe('a file of manifests', () => {
  it('is read document by document, and a broken one does not hide the others', () => {
    const file = readSourceFile('x.yaml', 'a: 1\n---\nb: [\n---\nc: 3\n---\n- d\n');
    expect(file.documents.map((document) => document.toJS() as unknown)).toEqual([{ a: 1 }, { c: 3 }]);
    expect(file.problems).toHaveLength(1);
  });

  it('reports keys that are there twice, and where', () => {
    expect(problemsOf('a: 1\nb:\n  c: 1\n  c: 2\n')).toEqual(['4:3 The key "c" is there twice']);
  });

  it('takes merge keys as they come', () => {
    expect(problemsOf('a: &a {b: 1}\nc: {<<: *a, <<: *a}\n')).toEqual([]);
  });

  it('reports aliases beyond any measure', () => {
    expect(problemsOf(`a: &a 1\nb: [${'*a, '.repeat(101)}]\n`)).toEqual([
      '2:405 A document may have 100 aliases, and this is one more',
    ]);
  });

  it('reports documents beyond any measure', () => {
    const file = readSourceFile('x.yaml', '---\na: 1\n'.repeat(10_002));
    expect(file.documents).toHaveLength(10_000);
    expect(file.problems).toMatchObject([
      { line: 20_001, message: expect.stringContaining('more than 10000') },
    ]);
  });

  it('reads many keys as fast as few', () => {
    const text = Array.from({ length: 40_000 }, (_, index) => `k${index}: 1`).join('\n');
    // The processor's time: that on the clock says more of what else runs on the machine.
    const before = process.cpuUsage();
    expect(readSourceFile('x.yaml', text).problems).toEqual([]);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(6_000);
  });

  it.each([
    ['flow', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['block', `${'- '.repeat(20_000)}a`],
  ])('reports a depth beyond any measure in %s style', (_name, text) => {
    expect(JSON.stringify(problemsOf(text))).toContain('It is nested too deeply to be read');
  });

  it('counts lines and columns from 1', () => {
    const { placeOf } = readSourceFile('x.yaml', 'ab\ncd\n');
    expect([0, 1, 3, 4, 6].map((offset) => placeOf(offset))).toEqual([
      { line: 1, column: 1 },
      { line: 1, column: 2 },
      { line: 2, column: 1 },
      { line: 2, column: 2 },
      { line: 3, column: 1 },
    ]);
  });
});
