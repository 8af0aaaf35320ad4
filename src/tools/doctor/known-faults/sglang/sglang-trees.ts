import type { KnownFault } from '../known-fault.js';

/** Assertions around SGLang's radix trees that have a repair of their own: `sglang/srt/mem_cache`, `managers/schedule_batch.py`, 0.5.3 to 0.5.23. */
export const SGLANG_TREES: readonly KnownFault[] = [
  {
    id: 'sglang_mamba_depth_of_page',
    cause: 'connector_crashed',
    needles: ['shares a page with the one ending at', 'assert i % chunk_size == 0'],
    pattern: /segment at \d{1,9} shares a page|assert i % chunk_size == 0/,
    says: 'SGLang keeps the state of a Mamba layer at a depth that no page of its radix tree has',
    why: 'With decode context parallelism (--dcp-size) the pages of the tree are wider than those of the scheduler, and a chunk of a prompt can end within one. Pull requests 36005 (August 2026) and 39115 (September 2026) count depths from the start of the prompt.',
    cure: 'Start the engine with --dcp-size 1, or with --disable-radix-cache, which costs all hits, until a SGLang of late September 2026 or later is there',
  },
  {
    id: 'sglang_tree_child_lost',
    cause: 'connector_crashed',
    needles: ['parent does not have child key'],
    says: "SGLang's radix tree for Mamba states has a node that its parent does not know, and the engine ends as it makes room",
    why: 'MambaRadixCache splits nodes within a page where the page size is above 1 (trtllm_mha sets 64): an empty node is left (pull request 28692). The unified radix tree aligns keys to pages.',
    cure: 'Set SGLANG_ENABLE_UNIFIED_RADIX_TREE=1 (April 2026 and later) or run a SGLang of July 2026 and later, which has the unified tree alone; on older ones start with --page-size 1 and --attention-backend triton or fa3, or with --disable-radix-cache, which costs all hits',
  },
  {
    id: 'sglang_chunk_cache_without_window',
    cause: 'settings_refused',
    needles: ["'ChunkCache' object has no attribute 'sliding_window_size'"],
    says: 'SGLang takes a cache without sliding windows for a model that has them: its radix cache is off and SGLANG_OPT_DPSK_V4_RADIX=1 set',
    why: 'The variable makes DeepSeek-V4 a model with sliding windows, and --disable-radix-cache gives it the plain cache for chunks: the first request ends the engine.',
    cure: 'Take --disable-radix-cache out of the command of the engine, or unset SGLANG_OPT_DPSK_V4_RADIX',
  },
  {
    id: 'sglang_nsa_shared_prefixes',
    cause: 'connector_crashed',
    needles: ['assert num_tokens <= total_num_tokens'],
    says: 'SGLang counts the shared prefixes of a batch once for each request, and finds more tokens than its KV cache has',
    why: 'The FP8 cache of sparse attention (NSA) is unpacked for each request of a batch. Requests that share a prefix then count more tokens than slots, which an assertion refused up to 0.5.6 (pull request 15086).',
    cure: 'Run SGLang 0.5.7 or later; until then set a larger --max-total-tokens, or --disable-radix-cache, which costs all hits',
  },
];
