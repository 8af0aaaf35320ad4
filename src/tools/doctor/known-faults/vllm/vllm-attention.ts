import type { KnownFault } from '../known-fault.js';

/** Attention backends of vLLM that do not take the KV cache that is asked for: `v1/attention`, `platforms`. */
export const VLLM_ATTENTION: readonly KnownFault[] = [
  {
    id: 'attention_none_takes_cache_type',
    cause: 'settings_refused',
    needles: ['No valid attention backend found for '],
    pattern: /kv_cache_dtype='?(\w{1,30})\b.{0,2000}\bkv_cache_dtype not supported/,
    says: 'No attention backend of this model and GPU takes --kv-cache-dtype $1',
    why: 'Each backend has formats of the KV cache of its own; the reasons behind each name in the line say what it lacks. Sparse MLA (DeepSeek V3.2, GLM-5) has fp8_ds_mla as its FP8 format.',
    cure: 'Start the engines of both roles with --kv-cache-dtype auto in place of $1; for sparse MLA on Hopper with --kv-cache-dtype fp8_ds_mla',
  },
  {
    id: 'attention_none_takes_block_size',
    cause: 'settings_refused',
    needles: ['No valid attention backend found for '],
    pattern: /block_size=(\d{1,9})\b.{0,2000}\bblock_size not supported/,
    says: 'No attention backend of this model and GPU takes blocks of $1 tokens',
    why: 'Backends take blocks of sizes of their own: FlashMLA 64, CUTLASS MLA 128, FlashInfer 16, 32 and 64.',
    cure: 'Start the engine without --block-size, so that it takes the size of its attention backend; router and the other engine of a pair follow',
  },
  {
    id: 'attention_chosen_refuses_cache_type',
    cause: 'settings_refused',
    needles: ['is not valid for this configuration. Reason'],
    pattern:
      /Selected backend (?:AttentionBackendEnum\.)?(\w{1,60}) is not valid .{0,200}kv_cache_dtype not supported/,
    says: 'The attention backend $1 does not take the --kv-cache-dtype that is set',
    why: 'The backend was chosen by --attention-backend (VLLM_ATTENTION_BACKEND in older versions), and has no kernels for this format of the KV cache on this GPU.',
    cure: 'Start the engines of both roles without --attention-backend (VLLM_ATTENTION_BACKEND) $1, so that vLLM takes one that fits, or with --kv-cache-dtype auto',
  },
  {
    id: 'attention_chosen_refuses_block_size',
    cause: 'settings_refused',
    needles: ['is not valid for this configuration. Reason'],
    pattern:
      /Selected backend (?:AttentionBackendEnum\.)?(\w{1,60}) is not valid .{0,200}block_size not supported/,
    says: 'The attention backend $1 does not take the --block-size that is set',
    why: 'Backends take blocks of sizes of their own: FlashMLA 64, CUTLASS MLA 128, FlashInfer 16, 32 and 64.',
    cure: 'Start the engine without --block-size, or without --attention-backend $1; router and the other engine of a pair follow the new size',
  },
  {
    id: 'attention_without_fp8_cache',
    cause: 'settings_refused',
    needles: [
      'with FP8 KV cache not yet supported',
      'does not support fp8 kv-cache on this device',
      'FP8 KV cache requires FA3 on SM90',
    ],
    pattern: /(?:NotImplementedError|ValueError|Reason)/,
    says: 'The attention backend has no FP8 KV cache on this GPU, and --kv-cache-dtype fp8 is set',
    why: 'FlashAttention reads an FP8 cache from version 3 on (Hopper), and MLA backends have formats of their own. Other backends take it on more GPUs.',
    cure: 'Start the engines of both roles with --attention-backend FLASHINFER (VLLM_ATTENTION_BACKEND=FLASHINFER in older versions), or with --kv-cache-dtype auto',
  },
  {
    id: 'attention_gpu_without_fp8',
    cause: 'settings_refused',
    needles: ['FP8 KV cache is not supported by the Triton'],
    pattern: /Re-run with --kv-cache-dtype (\w{1,20})/,
    says: 'This GPU has no FP8, and --kv-cache-dtype fp8 is set',
    why: 'FP8 in kernels of Triton needs Ada or Hopper (compute capability 8.9).',
    cure: 'Start the engines of both roles with --kv-cache-dtype $1 or auto',
  },
  {
    id: 'attention_hybrid_one_cache_type',
    cause: 'settings_refused',
    needles: ['Hybrid models with more than one KV cache type are not supported yet'],
    says: 'The model has several kinds of KV cache (windows or states beside full attention), and what allocates the cache takes one',
    why: 'vLLM before 0.10 has no such models in its engine V1, and kvcached, which allocates the cache in its place, has none in later versions either.',
    cure: 'Run vLLM 0.11 or later, and without kvcached for this model (ENABLE_KVCACHED=false and KVCACHED_AUTOPATCH=0)',
  },
];
