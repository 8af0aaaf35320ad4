import { describe, expect, it } from 'vitest';
import { offloadedSizes } from '../../../../src/tools/doctor/fixes/offloaded-sizes.js';

describe('sizes of blocks that the offloading of vLLM compares', () => {
  it.each([
    ['gpu_block_size=64 not divisible by hash_block_size=256.', 'without --block-size 256 '],
    [
      'block_size must be a multiple of hash_block_size (vllm/v1/kv_offload/spec.py in __init__)',
      '--enable-prefix-caching',
    ],
    ['tokens_per_chunk must be a multiple of tokens_per_block (vllm/v1/x.py in y)', 'a multiple of'],
    [
      'Invalid hash_block_size=528; all KV cache group block sizes must be divisible by hash_block_size. Got group block sizes=[528, 528, 16].',
      'set it to 16',
    ],
  ])('are brought together after %s', (sentence, cure) => {
    expect(offloadedSizes(sentence)?.[0]).toContain(cure);
  });

  it('leaves other sentences to others', () => {
    expect(offloadedSizes('block_size must be a multiple of 16')).toBeUndefined();
  });
});
