import { describe, expect, it } from 'vitest';
import {
  conflictingFlags,
  demandedSettings,
  isSizeOfBlocks,
  knownValues,
  refusedFeatures,
  removedFlags,
  requiredFlag,
  settingOfValue,
  switchToLeaveOut,
} from '../../../../src/tools/doctor/fixes/setting-words.js';

describe('the settings that a sentence demands', () => {
  it.each([
    ['Page size must be 1 for MambaRadixCache v1, got 128', 'sglang', ['--page-size 1']],
    ['Block size must be a multiple of 16.', 'vllm', ['--block-size 16']],
    ['The block size must be 32', 'trtllm', ['kv_cache_config: { tokens_per_block: 32 }']],
    [
      'chunked_prefill_size must be divisible by page_size',
      'sglang',
      ['--chunked-prefill-size N, a multiple of --page-size'],
    ],
    ['max_num_batched_tokens must be 8192', 'vllm', ['--max-num-batched-tokens 8192']],
    ['enable_block_reuse=False is required', 'trtllm', ['kv_cache_config: { enable_block_reuse: false }']],
    ['Please set `--disable-hybrid-kv-cache-manager`.', 'vllm', ['--disable-hybrid-kv-cache-manager']],
    [
      "'block_size'=24 in kv_connector_extra_config must be a multiple of the GPU KV cache block size (16 tokens). Use 16 instead",
      'vllm',
      [`--kv-transfer-config '{…,"kv_connector_extra_config":{"block_size":16}}'`],
    ],
    ['No common block size for 8.', 'vllm', ['--block-size']],
    ['RecoverSSM requires --mamba-backend triton', 'vllm', ['--mamba-backend triton']],
    ['requires --replayssm-buffer-len <= 16', 'vllm', ['--replayssm-buffer-len 16 or less']],
    ['requires --replayssm-buffer-len >= 1 + num_speculative_tokens', 'vllm', ['--replayssm-buffer-len']],
    ['does not support --mamba-cache-mode align yet; use none', 'vllm', ['--mamba-cache-mode none']],
    [
      'FlashInfer ReplaySSM does not support prefix caching yet; use --disable-prefix-caching',
      'vllm',
      ['--no-enable-prefix-caching'],
    ],
    ['requires SM80+. Re-run with --kv-cache-dtype float16.', 'vllm', ['--kv-cache-dtype float16']],
    ['Set --max-num-batched-tokens to at least 544.', 'vllm', ['--max-num-batched-tokens 544 or more']],
    ['Set `--chunk-size` to 256', 'vllm', ['--chunk-size 256']],
    ['new_spec.page_size_bytes is not what was asked for', 'vllm', []],
    ['the connector is not set', undefined, []],
    ['Unknown KVConnectorRole: kv_both', 'vllm', []],
    [
      'max_num_batched_tokens (512) must be greater than or equal to max_num_seqs (1024).',
      'vllm',
      ['--max-num-batched-tokens to at least 1024, or --max-num-seqs to at most 512'],
    ],
    [
      'ngram_prompt_lookup_min=5 cannot be larger than ngram_prompt_lookup_max=4',
      'vllm',
      [
        '"ngram_prompt_lookup_min" in --speculative-config to at most 4, or "ngram_prompt_lookup_max" in --speculative-config to at least 5',
      ],
    ],
    [
      'data_parallel_size_local (4) must be <= data_parallel_size (2)',
      'vllm',
      ['--data-parallel-size-local to at most 2, or --data-parallel-size to at least 4'],
    ],
    [
      'num_speculative_tokens=3 must be divisible by n_predict=2',
      'vllm',
      ['"num_speculative_tokens" in --speculative-config to a multiple of 2'],
    ],
    ['kv_block_size must be 16', 'vllm', ['--block-size 16']],
    ['max_inner_parts must be 16', 'vllm', []],
    ['max_running_requests must be 16', 'sglang', ['--max-running-requests 16']],
  ])('by %j of %s are %j', (sentence, engine, texts) => {
    expect(demandedSettings(sentence, engine).map(({ text }) => text)).toEqual(texts);
  });

  it.each([
    ['--page-size 1', true],
    ['kv_cache_config: { tokens_per_block: 32 }', true],
    ['--chunked-prefill-size N, a multiple of --page-size', false],
  ])('%j is the size of blocks: %s', (setting, isSize) => {
    expect(isSizeOfBlocks(setting)).toBe(isSize);
  });
});

describe('a flag that a sentence says to leave out', () => {
  it('is named where no other one is asked for', () => {
    expect(
      removedFlags(
        'X requires the hybrid KV cache manager; remove --disable-hybrid-kv-cache-manager or use Y',
      ),
    ).toEqual(['--disable-hybrid-kv-cache-manager']);
    expect(removedFlags('set `--mamba-backend flashinfer`, or omit `--mamba-ssu-algorithm`')).toEqual([]);
  });
});

describe('values that a sentence lists', () => {
  it.each([
    [
      'Unsupported ec_role: both. Supported roles are ec_producer, ec_consumer',
      ['both', 'ec_producer, ec_consumer'],
    ],
    [
      "Unknown Mamba SSU backend: 'cuda'. Valid options are: triton, flashinfer",
      ['cuda', 'triton, flashinfer'],
    ],
    ['Unknown KVCR policy: lru.v2. Supported: lru; external ones are modules.', ['lru.v2', 'lru']],
    ['Unknown option: --foo', undefined],
    ['only NHD is supported', undefined],
  ])('of %j are %j', (sentence, values) => {
    expect(knownValues(sentence)).toEqual(values);
  });
});

describe('the setting of such a value', () => {
  it.each([
    ["Invalid event_plane value 'zeromq'. Valid values: 'nats', 'zmq'", 'event_plane'],
    ['Unsupported ec_role: both. Supported roles are ec_producer', 'ec_role'],
    ["Unknown Mamba SSU backend: 'cuda'. Valid options are: triton", ''],
  ])('of %j is %j', (sentence, name) => {
    expect(settingOfValue(sentence)).toBe(name);
  });
});

describe('the feature to leave out', () => {
  it.each([
    [
      'HiRadixCache only supports MHA, MLA, and NSA (DSA) models',
      'sglang',
      ['without --enable-hierarchical-cache'],
    ],
    [
      'OffloadingConnector does not support MLA',
      'vllm',
      ['without --kv-transfer-config', 'without --kv-offloading-size'],
    ],
    [
      'Speculative decoding is not supported with KV events',
      'vllm',
      ['without --speculative-config', 'without --kv-events-config'],
    ],
    ['Prefix caching is not supported for this model', 'vllm', ['with --no-enable-prefix-caching']],
    [
      'Prefix cache and chunked prefill are currently not supported.',
      undefined,
      [
        'with --no-enable-prefix-caching (vLLM) or with --disable-radix-cache (SGLang)',
        'with --no-enable-chunked-prefill (vLLM) or with --chunked-prefill-size -1 (SGLang)',
      ],
    ],
    ['PD disaggregation is not supported with service discovery', undefined, []],
    [
      'Block reuse is not supported with this attention',
      'trtllm',
      ['kv_cache_config: { enable_block_reuse: false }'],
    ],
    ['HiRadixCache only supports MHA and MLA yet', undefined, []],
    ['The hierarchical cache has 3 GB', 'sglang', []],
  ])('by %j of %s is %j', (sentence, engine, texts) => {
    expect(refusedFeatures(sentence, engine)).toEqual(texts);
  });
});

describe('flags that a sentence refuses together', () => {
  it.each([
    ['--enable-lmcache with --dcp-size > 1 is not supported', ['--dcp-size', '--enable-lmcache']],
    ['--enable-a and --enable-b are mutually exclusive', ['--enable-b', '--enable-a']],
    [
      '--serve-indexer and --use-remote-indexer are mutually exclusive',
      ['--use-remote-indexer', '--serve-indexer'],
    ],
    ['Cannot specify both --a-flag and --connector flags', ['--connector', '--a-flag']],
    // It asks for something else: that is the better cure.
    ['--enable-a is incompatible with --enable-b; use --enable-c', []],
    ['--enable-a requires --enable-b', []],
    ['HiRadixCache does not support this model', []],
  ])('of %j are %j', (sentence, flags) => {
    expect(conflictingFlags(sentence)).toEqual(flags);
  });

  it.each([
    [
      '--load-publish-endpoint requires --kv-events-config: routers discover',
      ['--kv-events-config', '--load-publish-endpoint'],
    ],
    ['--policy tlru requires --radix-cache-backend unified.', ['--radix-cache-backend unified', '--policy']],
    [
      "--keep-prefixes currently requires --transfer-backend in ('nixl', 'mooncake'), but got 'mori'",
      ["--transfer-backend to one of ('nixl', 'mooncake')", '--keep-prefixes'],
    ],
    ['--enable-lmcache requires radix cache to be enabled', undefined],
    ['--a-flag requires --b-flag to be set', ['--b-flag', '--a-flag']],
    ['--block-size is required when --workers is specified', ['--block-size', '--workers']],
  ])('or of which one needs the other: %j is %j', (sentence, found) => {
    expect(requiredFlag(sentence)).toEqual(found);
  });
});

describe('switches that have to be off', () => {
  it.each([
    ['disable_overlap_schedule must be False for this cache', '--disable-overlap-schedule'],
    ['enable_mixed_chunk should be set to False', '--enable-mixed-chunk'],
    ['enable_mixed_chunk must be True', undefined],
    ['page_size must be False', undefined],
  ])('are left out: %j', (sentence, flag) => {
    expect(switchToLeaveOut(sentence)).toBe(flag);
  });
});

describe('names that are no demanded arguments', () => {
  it('are those of folders and files, and of values within a program', () => {
    const sentence = 'the pools are too small (sglang/srt/mem_cache/kv_cache_builder.py in build)';
    expect(demandedSettings(sentence, 'sglang')).toEqual([]);
    expect(demandedSettings('decode_prefix_len must be in range', 'sglang')).toEqual([]);
  });

  it.each([
    'Elastic EP is not supported with pipeline parallelism (pipeline_parallel_size=2).',
    'Regions require matching metadata lengths, got base_addrs=8, block_lens=8, max_model_len=4.',
    'either has to divide the other, got FLA_CHUNK_SIZE=64, self.page_size=48',
  ])('are present values: %s', (sentence) => {
    const texts = demandedSettings(sentence, 'vllm').map(({ text }) => text);
    expect(texts.filter((text) => /\d$/.test(text))).toEqual([]);
  });
});
