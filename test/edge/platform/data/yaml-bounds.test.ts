import { describe, expect, it } from 'vitest';
import { CONFIG_YAML_BOUNDS, findYamlExcess } from '../../../../src/edge/platform/data/yaml-bounds.js';

const excessOf = (text: string): string | undefined => findYamlExcess(text, CONFIG_YAML_BOUNDS);

describe('the bounds of YAML', () => {
  it.each([
    ['brackets', '['],
    ['braces', '{'],
    ['dashes', '- '],
    ['question marks', '? '],
    ['dashes and braces', '- {a: '],
  ])('stop at 64 KiB of %s', (_, piece) => {
    expect(excessOf(piece.repeat(65_536 / piece.length))).toBe('too_deep');
  });

  it('stop at more values than a configuration has', () => {
    expect(excessOf('- \n'.repeat(40_000))).toBe('too_much');
    expect(excessOf(Array.from({ length: 20_000 }, (_, i) => `key-${i}: 1`).join('\n'))).toBe('too_much');
    expect(excessOf(`{${'a: 1, '.repeat(20_000)}}`)).toBe('too_much');
  });

  it('let pass configurations, whatever stands in their texts', () => {
    expect(excessOf('kv_cache_config:\n  tokens_per_block: 32\n')).toBeUndefined();
    expect(excessOf('- - - 1\n'.repeat(2_000))).toBeUndefined();
    expect(
      excessOf(`text: |\n  ${'[{? - '.repeat(10_000)}\nother: "${'[['.repeat(1_000)}"\n`),
    ).toBeUndefined();
  });

  it('count brackets outside of texts alone', () => {
    expect(excessOf(`text: "${'['.repeat(100)}"\nother: ${'['.repeat(60)}`)).toBeUndefined();
    expect(excessOf('- '.repeat(65))).toBe('too_deep');
    expect(excessOf('- '.repeat(64))).toBeUndefined();
  });
});
