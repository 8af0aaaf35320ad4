import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { gatherModel, readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { TestFolder } from '../support/folder.js';

const folder = new TestFolder();
afterEach(() => folder.clear());

const CONFIG = {
  model_type: 'qwen2',
  hidden_size: 896,
  intermediate_size: 4864,
  num_hidden_layers: 24,
  num_attention_heads: 14,
  num_key_value_heads: 2,
  vocab_size: 151936,
  tie_word_embeddings: true,
  torch_dtype: 'bfloat16',
  sliding_window: 32768,
  use_sliding_window: false,
};

describe('a model', () => {
  it('has its shape from config.json', async () => {
    const part = await gatherModel(folder.write('config.json', JSON.stringify(CONFIG)));
    expect(part.source.status).toBe('read');
    expect(part.models).toMatchObject([
      { name: 'qwen2', layers: 24, kvHeads: 2, headSize: 64, dtypeBytes: 2, slidingWindow: undefined },
    ]);
  });

  it('has the weights of its shape: those of Qwen2.5 0.5B but for norms and biases', () => {
    const shape = readModelShape('config.json', JSON.stringify(CONFIG));
    expect(shape).toMatchObject({ weightBytes: 493_961_216 * 2 });
  });

  it('has its weights from the index in its folder, which is surer', async () => {
    const path = join(folder.path, 'model');
    mkdirSync(path);
    writeFileSync(join(path, 'config.json'), JSON.stringify(CONFIG));
    writeFileSync(join(path, 'model.safetensors.index.json'), '{"metadata":{"total_size":988097824}}');
    const index = join(path, 'model.safetensors.index.json');
    const weightOrigin = { place: index, text: 'metadata.total_size: 988097824' };
    for (const given of [path, join(path, 'config.json')])
      expect((await gatherModel(given)).models).toMatchObject([{ weightBytes: 988_097_824, weightOrigin }]);
  });

  it('has its weights from their one file where there is no index, unless that is a pointer to it', async () => {
    const path = join(folder.path, 'one');
    mkdirSync(path);
    const config = { ...CONFIG, quantization_config: { quant_method: 'awq' } };
    writeFileSync(join(path, 'config.json'), JSON.stringify(config));
    writeFileSync(join(path, 'model.safetensors'), 'version https://git-lfs.github.com/spec/v1');
    expect((await gatherModel(path)).models).toMatchObject([{ weightBytes: undefined }]);
    writeFileSync(join(path, 'model.safetensors'), Buffer.alloc(100_000));
    const weightOrigin = { place: join(path, 'model.safetensors'), text: '100000 bytes' };
    expect((await gatherModel(path)).models).toMatchObject([{ weightBytes: 100_000, weightOrigin }]);
  });

  it('is read with the names of all experts that are quantised in their own ways, and is too large with more', () => {
    const names = (count: number): object =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [
          `model.layers.0.mlp.experts.${at}`,
          { quant_algo: 'NVFP4' },
        ]),
      );
    const of = (count: number): unknown =>
      readModelShape(
        'c',
        JSON.stringify({ ...CONFIG, quantization_config: { quantized_layers: names(count) } }),
      );
    expect(of(40_000)).toMatchObject({ layers: 24, isQuantised: true });
    expect(of(80_000)).toMatch(/^has more than \d+ bytes$/);
  });

  it('counts only layers that attend, of a hybrid one', () => {
    const layer_types = Array.from({ length: 24 }, (_, at) =>
      at % 4 === 3 ? 'full_attention' : 'linear_attention',
    );
    expect(readModelShape('c', JSON.stringify({ ...CONFIG, layer_types }))).toMatchObject({ layers: 6 });
  });

  it('is reported when it cannot be read', async () => {
    const reasons = await Promise.all(
      [
        folder.write('a.json', '{"model_type":'),
        folder.write('b.json', '{}'),
        folder.write('c.json', '{"num_hidden_layers":-1,"hidden_size":1e99}'),
        folder.write('d.json', '[]'),
        join(folder.path, 'nothing'),
        folder.path,
      ].map(async (path) => (await gatherModel(path)).source),
    );
    expect(reasons.every(({ status }) => status === 'not_read')).toBe(true);
    expect(reasons.map(({ detail }) => detail)).toEqual([
      'is no JSON; give the config.json of the model, or its folder',
      'has no num_hidden_layers; give the config.json of the model as its publisher has it',
      'has no num_hidden_layers; give the config.json of the model as its publisher has it',
      'has no num_hidden_layers; give the config.json of the model as its publisher has it',
      'does not exist',
      'its config.json does not exist',
    ]);
  });
});

describe('a config.json of any origin', () => {
  const keys = ['num_hidden_layers', 'num_attention_heads', 'hidden_size', 'head_dim', 'kv_lora_rank'];
  const more = ['sliding_window', 'layer_types', 'text_config', 'torch_dtype', 'model_type', 'vocab_size'];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.integer({ min: 1, max: 100 }),
    fc.constantFrom('llama', 'gemma2'),
  );

  it('gives numbers that can be counted with, or a reason', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys, ...more), value), (config) => {
        const shape = readModelShape('config.json', JSON.stringify(config));
        if (typeof shape === 'string') return;
        for (const number of [shape.layers, shape.kvHeads, shape.headSize, shape.dtypeBytes]) {
          expect(Number.isSafeInteger(number)).toBe(true);
          expect(number).toBeGreaterThan(0);
        }
        expect((shape.slidingWindow?.layers ?? 0) <= shape.layers).toBe(true);
      }),
    );
  });
});
