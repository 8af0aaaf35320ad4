import type { DefaultSize } from '../descriptor/default-size.js';
import type { CardSetting } from '../descriptor/engine-launch.js';

/** `tokens_per_block` of `trtllm-serve` and `dynamo.trtllm`, and of the `kv_cache_aware` router of `trtllm-serve disaggregated`. */
export const TRTLLM_DEFAULT_TOKENS = 32;

/** What Dynamo's wrapper puts into a worker's card, whatever its engine uses: read in the wheels, 1.4.0 and later ask the engine. */
export const TRTLLM_CARD: CardSetting = {
  flag: '--kv-block-size',
  variable: 'DYN_TRTLLM_KV_BLOCK_SIZE',
  defaultTokens: 32,
  until: { major: 1, minor: 4 },
};

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
    program: 'dynamo.trtllm',
    tokensPerBlock: TRTLLM_CARD.defaultTokens,
    where: 'in the card of the worker',
    until: TRTLLM_CARD.until,
    source: '--kv-block-size in trtllm/backend_args.py (0.9: trtllm/utils); 1.4.0 and later ask the engine',
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
