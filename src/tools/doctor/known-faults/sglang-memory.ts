import type { KnownFault } from './known-fault.js';

/** Room and accounts of SGLang's KV pools on the GPU: 0.4.6 to 0.5.23. */
export const SGLANG_MEMORY: readonly KnownFault[] = [
  {
    id: 'sglang_pool_leak',
    cause: 'connector_crashed',
    needles: ['memory leak detected!'],
    pattern: /ValueError: (\w{1,40}(?: \w{1,20})?) memory leak detected!/,
    says: "SGLang's accounts of its KV cache do not add up ($1), and the idle engine ends itself for it",
    why: 'When nothing runs, free, cached and locked tokens have to make the whole pool. A fault of SGLang lost some of them: the cache goes on to work with a few tokens less.',
    cure: 'Set SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE=0 (0.5.6 and later), with which the engine warns and goes on, and run a later version of SGLang; before 0.5.6 start with --disable-overlap-schedule',
    commands: ['kubectl set env deploy/WORKER SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_IDLE=0'],
  },
  {
    id: 'sglang_pool_too_small',
    cause: 'cache_memory_missing',
    needles: ['AssertionError: Memory pool size is too small'],
    says: 'the KV cache of SGLang has no room for one token more than it needs itself',
    why: 'What --mem-fraction-static leaves behind the weights, or --max-total-tokens, is less than one request needs.',
    cure: 'Raise --mem-fraction-static, or --max-total-tokens where it is set, or spread the model over more GPUs (--tp-size)',
  },
  {
    id: 'sglang_mamba_cache_small',
    cause: 'cache_memory_missing',
    needles: ['Hybrid (mamba/linear-attention) state cache is too small to serve'],
    pattern: /max_mamba_cache_size=(-?\d{1,9}), mamba_ratio=([\d.]{1,9})/,
    says: 'there is room for $1 states of Mamba layers, and one request needs $2',
    why: 'Each request takes slots for its states: more with the extra buffer and with speculation. Their room is a part of that of the KV cache.',
    cure: 'Raise --max-mamba-cache-size above $2, or --mamba-full-memory-ratio and --mem-fraction-static, and lower --max-running-requests',
  },
  {
    id: 'sglang_swa_pool_small',
    cause: 'cache_memory_missing',
    needles: ['cannot hold even one request: '],
    pattern:
      /SWA pool \((\d{1,9}) tokens\) cannot hold even one request: .{1,80}sliding_window_size \((\d{1,9})\) \+ page_size \((\d{1,6})\)/,
    says: 'the pool for layers with windows has $1 tokens, and one request needs a window of $2 and a page of $3',
    why: 'That pool is a part of the full one: --swa-full-tokens-ratio. No request would ever be admitted.',
    cure: 'Raise --swa-full-tokens-ratio (up to 1), or --mem-fraction-static',
  },
  {
    id: 'sglang_swa_pool_takes_all',
    cause: 'cache_memory_missing',
    needles: ['leaves no room for the full KV pool within'],
    says: 'the pool for layers with windows takes all memory that the KV cache has',
    why: 'It has a window and a step of eviction for each request that may run: --max-running-requests times both.',
    cure: 'Lower --max-running-requests, or SGLANG_SWA_EVICTION_INTERVAL, or raise --mem-fraction-static',
  },
  {
    id: 'sglang_chunk_below_alignment',
    cause: 'settings_refused',
    needles: ['Chunked prefill is aligned to '],
    pattern:
      /aligned to (\d{1,9}) tokens, but each rank's chunked prefill size is (\d{1,9})[^;]{0,120}; .{1,120}to at least (\d{1,9})/,
    says: 'a chunk of prefill has $2 tokens, and has to have $1 at least: longer prompts would never run',
    why: 'Chunks end where pages or tiles do. With data parallel attention each rank has its share of --chunked-prefill-size.',
    cure: 'Set --chunked-prefill-size $3 or more',
  },
  {
    id: 'sglang_last_request_aborted',
    cause: 'cache_memory_missing',
    needles: ['retract_decode: aborted last request '],
    says: 'one request alone fills the KV cache and is aborted',
    why: 'All other requests were put back already, and the last one still finds no room for its next token.',
    cure: 'Lower --context-length to what the cache has (max_total_num_tokens in the log of the start), or give the cache more: a larger --mem-fraction-static or --tp-size, or --kv-cache-dtype fp8_e4m3',
    commands: ['kubectl logs POD | grep -m1 -o "max_total_num_tokens=[0-9]*.*context_len=[0-9]*"'],
  },
  {
    id: 'sglang_decode_cache_full',
    cause: 'connector_crashed',
    needles: [
      'KV cache is full! Bug in memory estimation',
      'KV cache is full! There is a bug in memory estimation',
    ],
    says: 'a decode engine admits more than its KV cache has, and ends',
    why: 'It takes room for a request before its blocks come, and keeps --num-reserved-decode-tokens (512) free for each that runs. Its own prefixes, which are locked by others, may be counted as free.',
    cure: 'Start the decode engines without --disaggregation-decode-enable-radix-cache, with a larger --num-reserved-decode-tokens and a smaller --max-running-requests, until a later SGLang is there',
  },
  {
    id: 'sglang_decode_slots_full',
    cause: 'connector_crashed',
    needles: ['req_pool_indices is full! There is a bug in memory estimation'],
    says: 'a decode engine admits more requests than it has slots, and ends',
    why: 'Requests that wait for their blocks take slots beside those that run: --max-running-requests and --disaggregation-decode-extra-slots together.',
    cure: 'Raise --disaggregation-decode-extra-slots (before it was there --max-running-requests) of the decode engines, or let the router send fewer requests at a time',
  },
];
