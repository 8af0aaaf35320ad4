import { describe, expect, it } from 'vitest';
import { assertedSetting } from '../../../../../src/tools/doctor/logs/general/tensorrt-assertions.js';

describe('an assertion of TensorRT-LLM about a setting', () => {
  it.each([
    [
      'Assertion failed: maxNumTokens.value() % tokensPerBlock == 0 (../tensorrt_llm/batch_manager/cacheTransBuffer.cpp:206)',
      'max_tokens_in_buffer of cache_transceiver_config must be a multiple of tokens_per_block of kv_cache_config (tensorrt_llm/batch_manager/cacheTransBuffer.cpp)',
    ],
    [
      'Assertion failed: mMaxBeamWidth == 1 (/src/tensorrt_llm/cpp/tensorrt_llm/runtime/a.cpp:7)',
      'max_beam_width must be 1 (tensorrt_llm/runtime/a.cpp)',
    ],
    [
      'Assertion failed: config.getMaxNumTokens() >= 64 (/src/tensorrt_llm/executor/a.cpp:7)',
      'max_num_tokens must be at least 64 (tensorrt_llm/executor/a.cpp)',
    ],
    [
      'Assertion failed: Block reuse is currently not supported with beam width > 1. (/src/tensorrt_llm/batch_manager/kvCacheManager.cpp:1290)',
      'Block reuse is currently not supported with beam width > 1. (tensorrt_llm/batch_manager/kvCacheManager.cpp)',
    ],
  ])('%j demands %s', (line, value) => {
    expect(assertedSetting(line)).toEqual({ signal: 'settings_refused', value });
  });

  it.each([
    'Assertion failed: unitsPerPool.value() == 4 (../tensorrt_llm/batch_manager/cacheTransBuffer.cpp:206)',
    'Assertion failed: selfTokensPerBlock == destTokensPerBlock (/src/tensorrt_llm/batch_manager/cacheFormatter.cpp:9)',
    'Assertion failed: mSinkBlockTokenLength % tokensPerBlock == 0 (/src/tensorrt_llm/batch_manager/kvCacheManager.cpp:9)',
    'Assertion failed: Prompt length of the request must be less than max_seq_len (/src/tensorrt_llm/batch_manager/llmRequest.h:9)',
    'Assertion failed: maxBeamWidth == 1 (/src/other/a.cpp:7)',
  ])('is none in %j', (line) => {
    expect(assertedSetting(line)).toBeUndefined();
  });
});
