import { describe, expect, it } from 'vitest';
import { ENGINES } from '../../../src/engines/catalogue/engines.js';
import {
  certainDefaultSize,
  type DefaultSize,
  defaultSizeText,
  type Release,
} from '../../../src/engines/descriptor/default-size.js';
import { DYNAMO } from '../../../src/engines/dynamo/descriptor.js';
import { SGLANG } from '../../../src/engines/sglang/descriptor.js';
import { TRTLLM } from '../../../src/engines/trtllm/descriptor.js';
import { VLLM } from '../../../src/engines/vllm/descriptor.js';

const release = (text: string): Release => {
  const [major = 0, minor = 0] = text.split('.').map(Number);
  return { major, minor };
};

/** One program that went from 64 to 32 with 1.3, and another one. */
const CHANGED: readonly DefaultSize[] = [
  { program: 'server', tokensPerBlock: 64, until: release('1.3'), source: 'a wheel' },
  { program: 'server', tokensPerBlock: 32, since: release('1.3'), source: 'a wheel' },
  { program: 'router', tokensPerBlock: 128, source: 'a wheel' },
];

describe('the block size that a program has when nothing sets one', () => {
  it.each([
    ['0.9', 64],
    ['1.2', 64],
    ['1.3', 32],
    ['2.0', 32],
  ])('is that of its release: %s', (version, tokens) => {
    expect(certainDefaultSize(CHANGED, 'server', release(version))).toBe(tokens);
  });

  it('is not certain where it changed and the release is not known', () => {
    expect(certainDefaultSize(CHANGED, 'server', undefined)).toBeUndefined();
    expect(certainDefaultSize(CHANGED.slice(1, 2), 'server', undefined)).toBeUndefined();
  });

  it('is certain in each release where it never changed', () => {
    expect(certainDefaultSize(CHANGED, 'router', undefined)).toBe(128);
    expect(certainDefaultSize(CHANGED, 'another', release('1.0'))).toBeUndefined();
  });

  it('is not certain where it holds for some devices and kernels only', () => {
    const [first] = VLLM.defaultSizes;
    expect(first?.tokensPerBlock).toBe(16);
    expect(certainDefaultSize(VLLM.defaultSizes, 'vllm', release('0.32'))).toBeUndefined();
    expect(certainDefaultSize(SGLANG.defaultSizes, 'sglang', release('0.5'))).toBeUndefined();
  });
});

describe('the defaults of the engines', () => {
  it('are certain for TensorRT-LLM, and for the programs of Dynamo without kernels', () => {
    const dynamo = (program: string, version?: string): number | undefined =>
      certainDefaultSize(DYNAMO.defaultSizes, program, version === undefined ? undefined : release(version));
    expect(certainDefaultSize(TRTLLM.defaultSizes, 'trtllm-serve', undefined)).toBe(32);
    expect(dynamo('dynamo.router')).toBe(128);
    expect(dynamo('dynamo.mocker')).toBe(64);
    expect(dynamo('dynamo.mocker --engine-type sglang', '1.6')).toBe(1);
    expect(dynamo('dynamo.mocker --engine-type trtllm', '1.6')).toBe(32);
    expect(dynamo('dynamo.mocker --engine-type sglang', '1.2')).toBeUndefined();
    expect(dynamo('dynamo.mocker --engine-type sglang')).toBeUndefined();
  });

  it('are those of each release of trtllm-build', () => {
    const built = (version: string): number | undefined =>
      certainDefaultSize(TRTLLM.defaultSizes, 'trtllm-build', release(version));
    expect([built('0.7'), built('0.10')]).toEqual([128, 64]);
  });

  it('say where each number was read', () => {
    const sizes = ENGINES.flatMap(({ defaultSizes }) => defaultSizes);
    expect(sizes.length).toBeGreaterThan(10);
    for (const { source } of sizes) expect(source).toMatch(/\d\.\d|\b20\d\d\b/);
  });

  it('are named in one text with the device or kernel of each', () => {
    expect(defaultSizeText(SGLANG.defaultSizes)).toMatch(
      /^1 where no attention kernel asks for another, 64 with /,
    );
    expect(defaultSizeText(TRTLLM.defaultSizes)).toBe('32');
    expect(defaultSizeText([])).toBe('');
  });
});
