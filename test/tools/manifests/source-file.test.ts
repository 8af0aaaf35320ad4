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

  it('takes the last of them in a kustomization, as kubectl does', () => {
    const { documents, problems } = readSourceFile('x.yaml', 'kind: Kustomization\na: 1\na: 2\n');
    expect(problems).toEqual([]);
    expect(documents.map((document) => document.toJS() as unknown)).toEqual([
      { kind: 'Kustomization', a: 2 },
    ]);
    const merged = readSourceFile(
      'x.yaml',
      'kind: Component\na: &a {x: 1}\nb: &b {y: 1}\nc: {<<: *a, <<: *b, y: 2, y: 3}\n',
    );
    expect(merged.problems).toEqual([]);
    expect(merged.documents[0]?.get('c')).toMatchObject({ items: { length: 3 } });
  });

  it.each([
    ["a:\n  b: '[{\n    x: 1\n  }]'\n  c: 1\n", '[{ x: 1   }]'],
    ['a:\r\n  b: "x\r\n  \\"y\r\n  z" # more\r\n  c: 1\r\n', 'x   "y   z'],
    ["a:\n  b: 'it''s\n  so'\n  c: 1\n", "it's   so"],
    ['a:\n  b: "x\n  y \\\\"\n  c: 1\n', 'x   y \\'],
  ])('reads a quoted text whose further lines are no further in than its key: %j', (text, b) => {
    const { documents, problems, placeOf } = readSourceFile('x.yaml', text);
    expect(problems).toEqual([]);
    expect(documents[0]?.toJS()).toEqual({ a: { b: expect.any(String) as unknown, c: 1 } });
    expect(String(documents[0]?.getIn(['a', 'b'])).replace(/ +/g, ' ')).toBe(b.replace(/ +/g, ' '));
    expect(placeOf(text.indexOf('c: 1'))).toMatchObject({ column: 3 });
  });

  it.each(["a:\n  b: 'x\n  c: 1\n", "a:\n  b: 'x\n  c: 'y'\n", 'a:\n  b: "x\n  c: it"s\n'])(
    'does not guess where a quote is missing: %j',
    (text) => {
      expect(readSourceFile('x.yaml', text).problems).toHaveLength(1);
    },
  );

  it('takes merge keys as they come', () => {
    expect(problemsOf('a: &a {b: 1}\nc: {<<: *a, <<: *a}\n')).toEqual([]);
  });

  it.each(['  !!merge <<: *a', '  !<tag:yaml.org,2002:merge> <<: *a', '  {!!merge <<: *a}'])(
    'takes the tag of a merge key, as Go writes it: %j',
    (merge) => {
      expect(problemsOf(`a: &a {b: 1}\nc:\n${merge}\n`)).toEqual([]);
    },
  );

  it('still reports keys that are no texts', () => {
    expect(problemsOf('a: 1\n? [b, c]\n: 2\n')).toHaveLength(1);
    expect(problemsOf('a: 1\n!!merge b: 2\n')).toHaveLength(1);
  });

  it('takes any number of aliases, as long as what they stand for is little', () => {
    expect(problemsOf(`a: &a 1\nb: [${'*a, '.repeat(1_000)}]\n`)).toEqual([]);
    const items = Array.from({ length: 600 }, () => '- {n: x, <<: *a}').join('\n');
    expect(problemsOf(`a: &a {k: 1, l: 2, m: 3}\nb:\n${items}\n`)).toEqual([]);
  });

  it('refuses more aliases than any manifest has, before it parses them', () => {
    const of = (count: number): string => `a: &a x\nb: [${'*a, '.repeat(count)}]\n`;
    expect(readSourceFile('a.yaml', of(19_000)).problems).toEqual([]);
    const { documents, problems } = readSourceFile('a.yaml', of(200_000));
    expect(documents).toEqual([]);
    expect(problems).toEqual([
      {
        line: 1,
        column: 1,
        message: 'It has too many aliases to be read: 20000 are the most; none of its documents was read',
      },
    ]);
    // What is no alias counts as none.
    expect(readSourceFile('a.yaml', `a: "${'*a '.repeat(30_000)}"\n`).problems).toEqual([]);
  });

  it('reports aliases that stand for more than kubectl reads', () => {
    const levels = Array.from(
      { length: 9 },
      (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(20)}]`,
    );
    expect(problemsOf(['a0: &a0 x', ...levels].join('\n'))).toEqual([
      '2:10 The aliases from here on stand for more than kubectl reads',
    ]);
    expect(problemsOf(`a: &a [${'*a, '.repeat(101)}]\n`)).toHaveLength(1);
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
