import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  advisedVariable,
  lmcacheKeyIn,
  refusalOf,
} from '../../../../../src/tools/doctor/logs/general/refused-settings.js';

describe('settings that are refused', () => {
  it.each([
    'block_size must be a multiple of 16',
    'gpu_block_size=64 not divisible by hash_block_size=256.',
    '--enable-hierarchical-cache and --disable-radix-cache are mutually exclusive; page_size cannot be 1',
    'Hybrid KV cache is not supported for eagle + chunked local attention.',
    'No common block size for 8.',
    'Connector name is not set in KVTransferConfig',
    'DSA KV sharding requires Mooncake, uncompressed index_kpool=1 and no DSA cache layer splitting.',
    "Specify only one of 'block_size' or 'blocks_per_chunk' in kv_connector_extra_config.",
    '3-read Mamba conv transfer requires DS conv state layout. Set VLLM_SSM_CONV_STATE_LAYOUT=DS',
    'HiRadixCache only supports MHA and MLA yet',
    'CXLRadixCache only supports MHA and MLA yet',
    'host_pool only supports MHA and MLA, got PoolOfWindows',
    'controller_pull_url is required when enable_controller=True',
    '--router-conditional-disagg-config must be a JSON object',
    '--engine-request-limit must be a positive integer, got 0',
    '--serve-indexer and --use-remote-indexer are mutually exclusive',
    '--tls-cert-path and --tls-key-path must be provided together',
    '--connector is no longer supported for the vLLM backend.',
    "Invalid event_plane value 'zeromq'. Valid values: 'nats', 'zmq'",
    'Cannot specify both --kv-transfer-config and --connector flags',
    'endpoint is required (set --endpoint or DYN_ROUTER_ENDPOINT)',
    'config_path must be set via --config or DYN_GLOBAL_ROUTER_CONFIG',
    'lmcache_worker_ports is required and cannot be empty when enable_controller=True',
    'Need to specify gds_path for GdsBackend',
    "extra_config['dax.max_dax_size'] must be > 0",
    'DCP not support sliding window attn now.',
    'HiSparse does not support decode context parallelism.',
    'RecoverSSM with align mode requires VLLM_USE_V2_MODEL_RUNNER=1',
    'Unsupported ec_role: both. Supported roles are ec_producer, ec_consumer',
    'FlashInfer ReplaySSM speculative decoding requires --mamba-cache-mode none',
  ])('are recognised: %s', (sentence) => {
    expect(refusalOf(sentence)).toEqual({ signal: 'settings_refused', value: sentence });
  });

  it.each([
    'kv_transfer_params is not supported for this request',
    'page_size mismatch: prefill server has 16',
    'temperature must be positive',
    '--health-check-payload was not given',
    'The request asks for more than --max-model-len allows',
    'Disaggregated params are required for decode mode',
    'NIXL transfer handle is invalid.',
    'Set temperature=0 to get the same answer',
  ])('are not those of one request, of a pair, or of anything else: %s', (sentence) => {
    expect(refusalOf(sentence)).toBeUndefined();
  });

  it('keep any sentence short and in one line', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000 }), (text) => {
        const value = refusalOf(`block_size must be ${text}`)?.value ?? '';
        expect(value.length).toBeLessThanOrEqual(180);
        expect(value).not.toContain('\n');
      }),
    );
  });
});

describe('a variable that an error says to set', () => {
  it.each([
    ['MoRIIO needs it; set VLLM_SSM_CONV_STATE_LAYOUT=DS', 'VLLM_SSM_CONV_STATE_LAYOUT=DS'],
    [
      'room implies dp_rank 1. Set SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK=1 to allow it.',
      'SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK=1',
    ],
    ['export UCX_TLS=rc,cuda_copy.', 'UCX_TLS=rc,cuda_copy'],
  ])('in %j is %s', (sentence, variable) => {
    expect(advisedVariable(sentence)).toBe(variable);
  });

  it.each(['set PASSWORD=secret', 'UCX_TLS=rc is what it has', 'Set VLLM_USE_V1'])(
    'is none in %j',
    (sentence) => {
      expect(advisedVariable(sentence)).toBeUndefined();
    },
  );
});

describe('the key of LMCache that a sentence speaks of', () => {
  it.each([
    ['Need to specify gds_path for GdsBackend', 'gds_path', 'in', ''],
    [
      'save_unfull_chunk should be set to False when using dynamic storage',
      'save_unfull_chunk',
      'in',
      'false',
    ],
    ["nixl_buffer_size must not be set when nixl_buffer_device='cpu'.", 'nixl_buffer_size', 'out', ''],
    ["extra_config['dax.max_dax_size'] must be > 0", 'dax.max_dax_size', 'wrong', ''],
    [
      'nixl_buffer_device=cpu requires a staging buffer (set max_local_cpu_size > 0)',
      'max_local_cpu_size',
      'in',
      '',
    ],
  ])('of %j is %s', (sentence, name, how, value) => {
    expect(lmcacheKeyIn(sentence)).toMatchObject({ name, how, value });
  });

  it('is none where the sentence has none of its keys', () => {
    expect(lmcacheKeyIn('local_cpu_backend must not be None')).toBeUndefined();
  });
});
