import { describe, expect, it } from 'vitest';
import {
  commonSize,
  type SizeFacts,
  sizeRule,
  sizeSetting,
} from '../../../../src/core/contract/evidence/size-rule.js';
import { EngineKind } from '../../../../src/core/contract/wire/enums.js';

const VLLM = EngineKind.VLLM;
const SGLANG = EngineKind.SGLANG;
const TRTLLM = EngineKind.TENSORRT_LLM;

function common(engines: readonly SizeFacts[], preferred: readonly number[]): number | undefined {
  return commonSize(engines.map(sizeRule), preferred);
}

describe('the block sizes that an engine can take', () => {
  it('vLLM: multiples of 16 on a GPU, of 32 on a CPU, and 16 only maybe where the device is not known', () => {
    const anywhere = sizeRule({ engineKind: VLLM, runsTokens: 32 });
    expect([1, 8, 16, 32, 48, 64, 96].map(anywhere.takes)).toEqual([
      'no',
      'no',
      'maybe',
      'yes',
      'maybe',
      'yes',
      'yes',
    ]);
    expect(sizeRule({ engineKind: VLLM, isOnGpu: true }).takes(16)).toBe('yes');
    expect(sizeRule({ engineKind: VLLM, runsTokens: 16 }).takes(48)).toBe('yes');
  });

  it('vLLM with MLA: a multiple of what its kernel runs, and on a CPU maybe nothing else than 16', () => {
    const gpu = sizeRule({ engineKind: VLLM, isMla: true, runsTokens: 64, isOnGpu: true });
    expect([16, 32, 64, 128].map(gpu.takes)).toEqual(['no', 'no', 'yes', 'yes']);
    const cpu = sizeRule({ engineKind: VLLM, isMla: true, runsTokens: 16 });
    expect([16, 64].map(cpu.takes)).toEqual(['yes', 'maybe']);
    const notRunning = sizeRule({ engineKind: VLLM, isMla: true });
    expect([32, 64].map(notRunning.takes)).toEqual(['no', 'maybe']);
  });

  it('vLLM computes the size of a hybrid model, which no flag lowers', () => {
    for (const facts of [
      { engineKind: VLLM, runsTokens: 1_056 },
      { engineKind: VLLM, runsTokens: 96, hasStates: true },
    ]) {
      const rule = sizeRule(facts);
      expect(rule.takes(facts.runsTokens)).toBe('yes');
      expect(rule.takes(32)).toBe('no');
      expect(rule.reason).toContain(`vLLM computes ${facts.runsTokens} for this hybrid model`);
    }
  });

  it('SGLang: powers of two, because a chunk of a prefill must hold whole pages; TensorRT-LLM: from 2', () => {
    const sglang = sizeRule({ engineKind: SGLANG });
    expect([1, 2, 32, 48, 1_056, 2_048, 4_096].map(sglang.takes)).toEqual([
      'yes',
      'yes',
      'yes',
      'no',
      'no',
      'yes',
      'no',
    ]);
    expect([1, 2, 24, 64].map(sizeRule({ engineKind: TRTLLM }).takes)).toEqual(['no', 'yes', 'no', 'yes']);
  });

  it('takes context parallelism out of the setting', () => {
    const rule = sizeRule({ engineKind: VLLM, contextParallel: 2, runsTokens: 64 });
    expect([32, 48, 64, 128].map(rule.takes)).toEqual(['maybe', 'no', 'yes', 'yes']);
    expect(sizeSetting(VLLM, 128, 2)).toBe('--block-size 64');
    expect(sizeSetting(SGLANG, 32)).toBe('--page-size 32');
    expect(sizeSetting(TRTLLM, 32)).toBe('kv_cache_config.tokens_per_block: 32');
  });

  it('is any integer of the contract for an engine that is not known', () => {
    const rule = sizeRule({ engineKind: EngineKind.OTHER });
    expect([0, 1, 1.5, 7, 1_048_576, 1_048_577].map(rule.takes)).toEqual([
      'no',
      'yes',
      'no',
      'yes',
      'yes',
      'no',
    ]);
  });
});

describe('the size that all engines of a group can take', () => {
  it('is the preferred one where no worker refuses it, else one that a worker has, else a usual one', () => {
    const vllm = { engineKind: VLLM, runsTokens: 32 };
    const sglang = { engineKind: SGLANG, runsTokens: 1 };
    expect(common([vllm, sglang], [1, 32])).toBe(32);
    expect(common([vllm, sglang], [1])).toBe(16);
    expect(common([{ engineKind: VLLM, runsTokens: 48 }, sglang], [1, 48])).toBe(16);
    expect(common([{ engineKind: TRTLLM, runsTokens: 32 }, vllm], [32])).toBe(32);
  });

  it('is none where a hybrid computes one that the others refuse', () => {
    expect(
      common([{ engineKind: VLLM, runsTokens: 1_056 }, { engineKind: SGLANG }], [1_056, 1]),
    ).toBeUndefined();
    expect(
      common(
        [
          { engineKind: VLLM, runsTokens: 1_056 },
          { engineKind: VLLM, runsTokens: 32 },
        ],
        [32],
      ),
    ).toBe(undefined);
    expect(
      common(
        [
          { engineKind: VLLM, runsTokens: 1_056 },
          { engineKind: VLLM, runsTokens: 32 },
        ],
        [32, 1_056],
      ),
    ).toBe(1_056);
  });
});
