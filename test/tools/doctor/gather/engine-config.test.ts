import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { gatherEngineConfig } from '../../../../src/tools/doctor/gather/engine-config.js';
import { engineFacts } from '../../../../src/tools/doctor/gather/engine-facts.js';
import { propertyRuns } from '../../../support/property-runs.js';
import { TestFolder } from '../support/folder.js';

const folder = new TestFolder();
afterEach(() => folder.clear());

async function read(text: string): Promise<{ readonly said: readonly string[]; readonly detail: string }> {
  const { source, sizes = [], settings = [] } = await gatherEngineConfig(folder.write('engine.yaml', text));
  const said = [
    ...sizes.map(({ tokensPerBlock }) => `block ${tokensPerBlock}`),
    ...settings.map(({ name, value }) => `${name} ${value}`),
  ];
  return { said, detail: source.status === 'not_read' ? source.detail : '' };
}

describe("an engine's configuration", () => {
  it('of TensorRT-LLM has its cache in a part of its own', async () => {
    const text = `
max_batch_size: 64
tensor_parallel_size: 4
kv_cache_config:
  free_gpu_memory_fraction: 0.85
  tokens_per_block: 64
  enable_block_reuse: false
  dtype: fp8
`;
    expect((await read(text)).said).toEqual([
      'block 64',
      'max_batch_size 64',
      'tensor_parallel_size 4',
      'free_gpu_memory_fraction 0.85',
      'prefix_caching false',
      'kv_cache_dtype fp8',
    ]);
  });

  it('of TensorRT-LLM reuses blocks where its part for the cache does not say otherwise', async () => {
    expect((await read('kv_cache_config:\n  tokens_per_block: 32\n')).said).toEqual([
      'block 32',
      'prefix_caching true',
    ]);
    expect((await read('max_batch_size: 64\n')).said).toEqual(['max_batch_size 64']);
  });

  it('of vLLM and SGLang has dashes, and switches that say the opposite', async () => {
    expect((await read('block-size: 32\nmax-num-seqs: 128\nno-enable-prefix-caching: true')).said).toEqual([
      'block 32',
      'max_num_seqs 128',
      'prefix_caching false',
    ]);
    expect((await read('{"page-size": 64, "disable-radix-cache": false, "dtype": "x"}')).said).toEqual([
      'block 64',
      'prefix_caching true',
    ]);
  });

  it('that cannot be read is reported', async () => {
    expect((await read('a: [')).detail).toMatch(/^cannot be read: /);
    expect((await read('- 1')).detail).toMatch(/is no YAML or JSON object/);
    expect((await read('log_level: info')).detail).toMatch(/has no setting of vLLM, SGLang or TensorRT-LLM/);
    expect((await read('block_size: many')).detail).toMatch(/has no setting/);
    const bomb = `a: &a [x,x]\nb: &b [*a,*a]\n${Array.from({ length: 300 }, (_, at) => `c${at}: *b`).join('\n')}`;
    expect((await read(bomb)).detail).toMatch(/cannot be read: .*alias/i);
  });
});

describe('what an engine says of itself', () => {
  const origin = { who: 'w', place: 'GET /server_info', basis: 'in_use' } as const;
  const factsOf = (path: string): readonly string[] => {
    const text = readFileSync(new URL(`../../../fixtures/engines/${path}`, import.meta.url), 'utf8');
    const { sizes, settings } = engineFacts(JSON.parse(text), origin);
    return [
      ...sizes.map(({ tokensPerBlock }) => `block ${tokensPerBlock}`),
      ...settings.map(({ name, value }) => `${name} ${value}`),
    ];
  };

  it('is found in the parts of vLLM', () => {
    const facts = factsOf('vllm-0.32.0/server_info.b32.json');
    expect(facts).toContain('block 32');
    expect(facts).toContain('prefix_caching true');
    expect(facts).toContain('tensor_parallel_size 1');
  });

  it('is found among the hundreds of SGLang', () => {
    const facts = factsOf('sglang-0.5.23/server_info.p32.json');
    expect(facts).toContain('block 32');
    expect(facts).toContain('prefix_caching true');
    expect(facts).toContain('gpu_memory_utilization 0.05');
  });

  it("is found in TensorRT-LLM's", () => {
    expect(factsOf('trtllm-public-reports/server_info.json')).toContainEqual(
      expect.stringMatching(/^block \d+$/),
    );
  });
});

describe('a configuration of any origin', () => {
  const keys = [
    'block_size',
    'page-size',
    'max_num_seqs',
    'kv_cache_config',
    'vllm_config',
    'tokens_per_block',
  ];
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 8 }, fc.jsonValue(), fc.dictionary(fc.constantFrom(...keys), tie('tree'))),
  }));

  it('gives sizes that an engine could have, and short excerpts', () => {
    fc.assert(
      fc.property(tree, (config) => {
        const { sizes, settings } = engineFacts(config, { who: '', place: 'x', basis: 'configured' });
        for (const { tokensPerBlock } of sizes) {
          expect(Number.isSafeInteger(tokensPerBlock)).toBe(true);
          expect(tokensPerBlock).toBeGreaterThan(0);
        }
        for (const { value, origin } of settings) {
          expect(value.length).toBeLessThanOrEqual(128);
          expect(origin.text.length).toBeLessThanOrEqual(300);
        }
      }),
      { numRuns: propertyRuns(30) },
    );
  });
});
