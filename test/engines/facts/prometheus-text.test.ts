import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MetricSample, readMetrics } from '../../../src/engines/facts/prometheus-text.js';

const read = (text: string, ...names: string[]): readonly MetricSample[] =>
  names.flatMap((name) => readMetrics(text, new Set(names)).samples.get(name) ?? []);
const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(read(`m${text} 1\n`, 'm')[0]?.labels ?? []);

describe('the Prometheus text reader', () => {
  it('takes the wanted names exactly and nothing else', () => {
    const text = '# HELP a x\n# TYPE a gauge\na 1\nab 2\nxa 3\na_total 4\na{x="1"} 5\n  \n';
    expect(read(text, 'a').map(({ valueText }) => valueText)).toEqual(['1', '5']);
    expect(read(text, 'b')).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['{}', {}],
    ['{x="1"}', { x: '1' }],
    ['{x="1",}', { x: '1' }],
    [' { x = "1" , y="2" } ', { x: '1', y: '2' }],
    ['{x="a\\"b\\\\c\\nd\\q"}', { x: 'a"b\\c\nd\\q' }],
    ['{x="}",y="{,="}', { x: '}', y: '{,=' }],
    ['{x=""}', { x: '' }],
  ])('reads the labels %s', (labels, expected) => {
    expect({ ...labelsOf(labels) }).toEqual(expected);
    expect(read(`m${labels} 1\n`, 'm')).toHaveLength(1);
  });

  it('reads values with time stamps and exemplars, and lines that end as Windows ends them', () => {
    const text = 'm 1.5e+06 1395066363000\r\nm 2 # {trace="x"} 0.67\nm NaN\n# EOF\n';
    expect(read(text, 'm').map(({ valueText }) => valueText)).toEqual(['1.5e+06', '2', 'NaN']);
  });

  it.each([
    '{',
    '{x}',
    '{x=1} 1',
    '{x="1} 1',
    '{x="1"',
    '{x="1" y="2"} 1',
    '{="1"} 1',
    '{x="1",x="2"} 1',
    ' ',
    '{x="1"}',
  ])('reports a line that it cannot read and goes on: m%s', (rest) => {
    const { samples, problems } = readMetrics(`m 1\nm${rest}\nm 3\n`, new Set(['m']));
    expect(samples.get('m')?.map(({ valueText }) => valueText)).toEqual(['1', '3']);
    expect(problems).toEqual([expect.stringMatching(/^line 2: cannot be read/)]);
  });

  it('bounds lines, labels, samples and problems', () => {
    const wanted = new Set(['m']);
    expect(readMetrics(`m{x="${'y'.repeat(70_000)}"} 1\n`, wanted).problems).toEqual([
      'line 1: m has a line of more than 65536 characters',
    ]);
    const labels = Array.from({ length: 300 }, (_, i) => `l${i}="1"`).join(',');
    expect(readMetrics(`m{${labels}} 1\n`, wanted).samples.get('m')).toBeUndefined();
    const many = readMetrics('m 1\n'.repeat(5_000), wanted);
    expect(many.samples.get('m')).toHaveLength(1_024);
    expect(many.problems).toHaveLength(8);
  });

  it('takes time in proportion to the text, whatever is in it', () => {
    const size = 250_000;
    for (const text of [
      'm{'.repeat(size),
      'm '.repeat(size),
      `m{x="${'\\'.repeat(60_000)}`,
      `${'m{x="\n'.repeat(size)}`,
    ]) {
      expect(readMetrics(text, new Set(['m'])).problems.length).toBeGreaterThan(0);
    }
  }, 5_000);

  it('never throws, and reads back whatever labels it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        readMetrics(text, new Set(['m', 'vllm:cache_config_info']));
        readMetrics(`m{${text}`, new Set(['m']));
        readMetrics(`m{x="${text}`, new Set(['m']));
      }),
    );
    const name = fc.stringMatching(/^[a-z_][a-z0-9_]{0,8}$/).filter((text) => text !== '__proto__');
    fc.assert(
      fc.property(fc.dictionary(name, fc.string()), (labels) => {
        const escaped = Object.entries(labels).map(
          ([key, value]) =>
            `${key}="${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`,
        );
        expect(labelsOf(`{${escaped.join(',')}}`)).toEqual({ ...labels });
      }),
    );
  });
});
