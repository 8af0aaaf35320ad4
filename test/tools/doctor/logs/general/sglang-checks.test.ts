import { describe, expect, it } from 'vitest';
import { lastLineOfCheck } from '../../../../../src/tools/doctor/logs/general/sglang-checks.js';

describe('the last line of a check of arguments', () => {
  it.each([
    'Elastic EP scale-up requires --moe-a2a-backend nixl (got moe_a2a_backend=none).',
    'PP size should be set to 1 under elastic EP, which requires EPLB',
    'FP8/MXFP8 Cutlass MoE is only supported with ep_size == 1',
    "FlashInfer TRTLLM MOE supports only: 'modelopt_fp4', which requires Blackwell",
    'Multi-item scoring requires flashinfer. Please set --attention-backend flashinfer when using --enable-mis.',
  ])("is SGLang's: %s", (sentence) => {
    expect(lastLineOfCheck(sentence)?.signal).toBe('settings_refused');
  });

  it.each([
    'Elastic EP is only supported with enable_eplb=True.',
    'Elastic EP is not supported with pipeline parallelism (pipeline_parallel_size=2).',
    'Loading dummy weights (needed for elastic EP scale-up) Is not supported by the CPU Model Runner.',
    'w1_zp is not supported in CUTLASS MoE',
    'Per-token NVFP4 activation for pre-quantized weights requires the FlashInfer TRTLLM MoE backend.',
    'FlashInfer MoE-EP requires the public API shipped with FlashInfer 0.7.0 or newer',
    'DFlash requires --attention-backend FLASHINFER',
  ])("is vLLM's, which says the like: %s", (sentence) => {
    expect(lastLineOfCheck(sentence)).toBeUndefined();
  });
});
