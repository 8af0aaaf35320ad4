import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ModelShape } from '../../../../src/tools/doctor/evidence.js';
import { readModelShape } from '../../../../src/tools/doctor/gather/model.js';
import { bytesPerToken } from '../../../../src/tools/doctor/memory/bytes-per-token.js';
import { draftLayersOf } from '../../../../src/tools/doctor/memory/draft-layers.js';

const FILE = new URL('../../../fixtures/model-configs/configs.json', import.meta.url);
const CONFIGS = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, object>>;

function shapeOf(config: object): ModelShape {
  const shape = readModelShape('config.json', JSON.stringify(config));
  if (typeof shape === 'string') throw new Error(shape);
  return shape;
}

const WHOLE = { tensor: 1, pipeline: 1, context: 1, isKnown: true };
const FORMAT = { valueBytes: 2, headBytes: 0, latentBytes: undefined };
const withFields = (model: string, fields: object): ModelShape => shapeOf({ ...CONFIGS[model], ...fields });

describe('layers of multi-token prediction', () => {
  it.each([
    ['one latent vector', 'deepseek-ai/DeepSeek-V3', { num_nextn_predict_layers: 1 }, 576 * 2],
    ['with an indexer', 'deepseek-ai/DeepSeek-V3.2', { num_nextn_predict_layers: 1 }, 576 * 2 + 132],
    [
      'with an indexer, which most others share',
      'zai-org/GLM-5.2',
      { num_nextn_predict_layers: 1 },
      576 * 2 + 132,
    ],
    ['that attend, of a hybrid', 'Qwen/Qwen3.6-35B-A3B', {}, 2 * 2 * 256 * 2],
    ['one by default', 'Qwen/Qwen3-Next-80B-A3B-Instruct', {}, 2 * 2 * 256 * 2],
    [
      'one of two that attends',
      'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8',
      { num_nextn_predict_layers: 1, mtp_hybrid_override_pattern: '*E' },
      2 * 2 * 128 * 2,
    ],
    ['two of them', 'zai-org/GLM-4.7', { num_nextn_predict_layers: 2 }, 2 * 2 * 8 * 128 * 2],
  ])('keep what the last layers keep: %s', (_, model, fields, expected) => {
    const shape = withFields(model, fields);
    const without = bytesPerToken(shape, WHOLE, FORMAT).everywhere;
    const { group } = draftLayersOf('mtp', shape);
    const { everywhere, steps } = bytesPerToken(shape, WHOLE, FORMAT, group);
    expect(everywhere - without).toBe(expected);
    expect(steps.at(-1)?.says).toBe('and in the layers that draft tokens');
  });

  it('have a window where the list of layers goes on so', () => {
    const step = CONFIGS['stepfun-ai/Step-3.7-Flash'] as { readonly layer_types: readonly string[] };
    const layer_types = [...step.layer_types.slice(0, 45), ...Array(3).fill('sliding_attention')];
    const shape = shapeOf({ ...step, layer_types, num_nextn_predict_layers: 3 });
    expect(shape.nextTokenLayers).toMatchObject({ layers: 3, windowTokens: 512 });
    expect(
      shapeOf({ ...step, layer_types: layer_types.slice(0, 45), num_nextn_predict_layers: 3 })
        .nextTokenLayers,
    ).toBe(undefined);
  });

  it('are not there without a number, and with none', () => {
    expect(withFields('deepseek-ai/DeepSeek-V3', {}).nextTokenLayers).toBeUndefined();
    expect(
      withFields('deepseek-ai/DeepSeek-V3', { num_nextn_predict_layers: 0 }).nextTokenLayers,
    ).toBeUndefined();
  });
});

describe('what drafts tokens', () => {
  const mtp = withFields('deepseek-ai/DeepSeek-V3', { num_nextn_predict_layers: 1 });
  const plain = withFields('Qwen/Qwen3-32B', {});

  it.each(['mtp', 'deepseek_mtp', 'NEXTN', 'EAGLE', '{"method": "mtp", "num_speculative_tokens": 2}'])(
    'is the own layers of a model that has them: %s',
    (method) => {
      expect(draftLayersOf(method, mtp)).toMatchObject({ group: { layers: 1 }, isUnknown: false });
    },
  );

  it.each([
    ['eagle3', mtp],
    ['{"method":"eagle3","model":"org/mtp-draft"}', mtp],
    ['EAGLE3', mtp],
    ['dflash', mtp],
    ['EAGLE', plain],
    ['mtp', plain],
    ['yuhuili/EAGLE3-LLaMA3.1-Instruct-8B', plain],
  ])('is another model, whose shape was not seen: %s', (method, model) => {
    expect(draftLayersOf(method, model)).toEqual({ group: undefined, isUnknown: true });
  });

  it.each([undefined, 'ngram', 'ngram_gpu', 'suffix', 'medusa', 'NGRAM'])('caches nothing: %s', (method) => {
    expect(draftLayersOf(method, mtp)).toEqual({ group: undefined, isUnknown: false });
  });
});
