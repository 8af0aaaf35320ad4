import type { DefaultSize } from '../descriptor/default-size.js';

/** `tokens_per_block` of `trtllm-serve` and `dynamo.trtllm`, and of the `kv_cache_aware` router of `trtllm-serve disaggregated`. */
export const TRTLLM_DEFAULT_TOKENS = 32;

/**
 * TensorRT-LLM without `kv_cache_config.tokens_per_block`. An engine that was built beforehand (`trtllm-build`, 0.x) carries
 * the size of its build, whatever the server's configuration says; and FlashMLA forces 64 (NVIDIA/TensorRT-LLM#19427).
 */
export const TRTLLM_DEFAULT_SIZES: readonly DefaultSize[] = [
  {
    program: 'trtllm-serve',
    tokensPerBlock: TRTLLM_DEFAULT_TOKENS,
    source: 'tokens_per_block of KvCacheConfig in tensorrt_llm/llmapi/llm_args.py, 2025 and 2026',
  },
  {
    program: 'trtllm-build',
    tokensPerBlock: 128,
    until: { major: 0, minor: 10 },
    source: 'build.py of the examples of 0.5 to 0.7',
  },
  {
    program: 'trtllm-build',
    tokensPerBlock: 64,
    since: { major: 0, minor: 10 },
    until: { major: 0, minor: 11 },
    source: 'release notes of TensorRT-LLM 0.10.0',
  },
];
