import { describe, expect, it } from 'vitest';
import { lmcacheSettings } from '../../../../src/tools/doctor/fixes/lmcache-settings.js';

const CURES: readonly (readonly [sentence: string, says: string])[] = [
  [
    "--l2-adapter #2 ('fs_native'): base_path must be a non-empty string (lmcache/v1/distributed/l2_adapters/config.py in parse_args_to_l2_adapters_config)",
    'Correct "base_path" (it must be a non-empty string) in the JSON of --l2-adapter \'{"type": "fs_native", …}\' of lmcache server (number 2), and start it again',
  ],
  [
    'raw_block requires persist_enabled=true (lmcache/v1/distributed/l2_adapters/raw_block_l2_adapter.py in from_dict)',
    'Set "persist_enabled" to true (raw_block requires persist_enabled=true) in the JSON of --l2-adapter \'{"type": "raw_block", …}\' of lmcache server, and start it again',
  ],
  [
    'l1-devdax-path requires lazy allocation to be disabled. Please set --no-l1-use-lazy. (lmcache/v1/distributed/config.py in __post_init__)',
    'Start lmcache server with --no-l1-use-lazy, then the engines',
  ],
  [
    "blend engine requires supported_transfer_mode 'lmcache_driven' or 'auto', got 'engine_driven' (lmcache/v1/multiprocess/server.py in _build_server_components)",
    "Correct the flags of lmcache server (blend engine requires --supported-transfer-mode 'lmcache_driven' or 'auto', got 'engine_driven'), and start it again",
  ],
  [
    'Asynchronous loading is not supported for external lookup clients. (lmcache/v1/lookup_client/factory.py in create_lookup_client)',
    "Write enable_async_loading: false into LMCache's configuration (LMCACHE_ENABLE_ASYNC_LOADING=False), or take external_lookup_client out of it",
  ],
  [
    "LMCache MP server port must be an integer: 'tcp://10.0.0.1:5555' (lmcache/integration/vllm/mp_server_launcher.py in _parse_port)",
    'Correct "lmcache.mp.port" in kv_connector_extra_config of --kv-transfer-config (LMCache MP server port must be an integer: \'tcp://10.0.0.1:5555\'), and start the engine again',
  ],
];

describe('the settings of a program of LMCache', () => {
  it.each(CURES)('%s', (sentence, says) => {
    expect(lmcacheSettings(sentence)?.says).toBe(says);
  });

  it('are none of a model whose KV cache it cannot read', () => {
    const fix = lmcacheSettings(
      'LMCache MP requires contiguous page-native C4 buffers (lmcache/integration/sglang/unified_kv_adapter.py in _validate_page_native_tensors)',
    );
    expect(fix?.says).toContain('Start SGLang without --enable-lmcache for this model');
  });

  it('leave flags of its server to what is read of any program', () => {
    expect(
      lmcacheSettings(
        '--enable-tracing requires --otlp-endpoint to be set. (lmcache/v1/mp_observability/config.py in parse)',
      ),
    ).toBeUndefined();
  });
});
