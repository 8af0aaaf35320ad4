import { describe, expect, it } from 'vitest';
import { repairRefusedWords } from '../../../../src/tools/doctor/fixes/refused-words.js';

/** For each form that a refusal may have: sentences with their cures, and others of the same words that are no refusals. */
const FORMS: readonly {
  readonly form: string;
  readonly cures: readonly (readonly [says: string, sentence: string])[];
  readonly others: readonly string[];
}[] = [
  {
    form: 'an invalid value and what it must be',
    cures: [
      [
        'Correct port (kubectl edit): Port must be > 0',
        "Error: InvalidValue: Invalid value for field 'port': 0 - Port must be > 0",
      ],
      [
        'Correct ssd_cache_gb (kubectl edit): must be greater than cpu_cache_gb: 64',
        'ValueError: Invalid ssd_cache_gb: 32, must be greater than cpu_cache_gb: 64.',
      ],
    ],
    others: ['Invalid answer from the store: it was closed'],
  },
  {
    form: 'a part that is not supported with another one',
    cures: [
      [
        'Start the program without Hugepages, or without P2P mode (kubectl edit)',
        'ValueError: Hugepages are not supported with P2P mode',
      ],
      [
        'Start the program without Sleep mode (kubectl edit)',
        'Sleep mode is not supported on current platform.',
      ],
    ],
    others: ['This is not supported with that', 'it conflicts with the request'],
  },
  {
    form: 'a part that does not support another one',
    cures: [
      [
        'Start the program without service discovery, or with something else than OpenAI mode (kubectl edit)',
        'OpenAI mode does not support service discovery',
      ],
      [
        'Start the program without service discovery, or with something else than OpenAI mode (kubectl edit)',
        'Error: ValidationFailed { reason: "OpenAI mode does not support service discovery" }',
      ],
      [
        'Start the program without PP-disaggregated KV transfer (kubectl edit)',
        'MoRIIOConnector received handshake metadata but does not support PP-disaggregated KV transfer.',
      ],
    ],
    others: ['It does not support that', 'This model does not support tools'],
  },
  {
    form: 'a part that works with, on or for another one alone',
    cures: [
      [
        'Start the program without Bfloat16 (kubectl edit), or on GPUs with compute capability of at least 8.0',
        'Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your GPU has 7.5.',
      ],
      [
        'Start the program without Sleep mode (kubectl edit), or for one instance per process',
        'Sleep mode can only be used for one instance per process.',
      ],
    ],
    others: ["This combination is only supported for the 'flashinfer' backend."],
  },
  {
    form: 'a part or setting that supports one value alone',
    cures: [
      [
        'Give it TP=1 (kubectl edit), or start the program without DaxBackend',
        'DaxBackend currently only supports TP=1 (world_size=4)',
      ],
      [
        "Set mamba_cache_mode to 'align' when kv_transfer enabled (kubectl edit)",
        "mamba_cache_mode only support 'align' when kv_transfer enabled now!",
      ],
      [
        'Give it local hosts (kubectl edit), or start the program without LMCache MP auto-start',
        "LMCache MP auto-start only supports local hosts ['127.0.0.1', 'localhost'], got '10.0.0.5'",
      ],
    ],
    others: ['it only supports that'],
  },
  {
    form: 'one of several that has to be there',
    cures: [['Set at least one cache tier (kubectl edit)', 'At least one cache tier must be configured.']],
    others: ['At least one request failed'],
  },
  {
    form: 'what has to be set',
    cures: [
      [
        'Set Etcd endpoints, or start the program without enable_ha (kubectl edit)',
        'Etcd endpoints must be set when enable_ha',
      ],
      [
        'Set data_parallel_rank or node_rank, or start the program without data_parallel_external_lb (kubectl edit)',
        'data_parallel_rank or node_rank must be specified if data_parallel_external_lb is enable.',
      ],
      [
        'Set SGLANG_DSV4_UNIFIED_KV_FP8 the same on both sides (kubectl edit)',
        'SGLANG_DSV4_UNIFIED_KV_FP8 must be set the same on both sides.',
      ],
    ],
    others: ['it must be set', 'the size should be set as the default (1)'],
  },
  {
    form: 'what it must have',
    cures: [
      [
        'Give lmcache_worker_ports at least 4 port(s) (kubectl edit)',
        'lmcache_worker_ports must have at least 4 port(s) (world_size), got 1',
      ],
      [
        'Give URLs and models the same length (kubectl edit)',
        'AssertionError: URLs and models should have the same length',
      ],
    ],
    others: ['All kv cache tensors must have the same size', 'Input shapes should have M >= 1'],
  },
  {
    form: 'what a value must be',
    cures: [
      [
        "Set NUMA mode to either 'auto', 'manual', or None (kubectl edit)",
        "NUMA mode must be either 'auto', 'manual', or None. Current mode: numa0",
      ],
      [
        'Set --connector to one of nixlv2, lmcache, sglang (kubectl edit)',
        'Error: --connector must be one of: nixlv2, lmcache, sglang"}',
      ],
      [
        'Set LMCache chunk size to a multiple of 528 (kubectl edit)',
        'LMCache chunk size 256 must be a multiple of 528 (the vLLM block size).',
      ],
      [
        'Set global_size to a value that is equal to the number of distinct workers (kubectl edit)',
        'global_size (4) should be equal to the number of distinct workers (2)',
      ],
      [
        'Set raw_advertise_host to non-loopback connectable host (kubectl edit)',
        'raw_advertise_host must be a non-loopback connectable host',
      ],
    ],
    others: [
      "int() argument must be a string, a bytes-like object or a real number, not 'NoneType'",
      'decoderFinishedEvent must be nullopt.',
      "First message should be b'NixlMsgGuard'.",
      'SessionRouter must be initialized with a session_key',
      'the cache must be of shape [2, N]',
    ],
  },
  {
    form: 'what a part requires',
    cures: [
      [
        'Give the program exactly two connectors, or start it without PdConnector (kubectl edit)',
        'PdConnector requires exactly two connectors (got 3)',
      ],
      [
        "Give the program disk_path, or start it without kv_offload_backend='disk' (kubectl edit)",
        'kv_offload_backend="disk" requires disk_path to be set.',
      ],
    ],
    others: [
      'Workspace is locked but MoE permute scratch requires 512 rows',
      'Unsupported request - requires mm extra keys',
      'the engine needs to restart',
    ],
  },
  {
    form: 'a value that is not known',
    cures: [
      [
        'Correct the KV pool backend "redis" (kubectl edit): the program does not know it; --help and the documentation of this version have those that it takes',
        'Unsupported KV pool backend: redis',
      ],
      [
        'Correct the router mode "kv-aware" (kubectl edit): the program does not know it; --help and the documentation of this version have those that it takes',
        "unknown router mode 'kv-aware'; expected one of round-robin, random",
      ],
    ],
    others: [
      'invalid router policy config: root policy_classes must not be empty',
      'invalid tiktoken vocab file: hash mismatch: computed=e3b0',
      'Unsupported PD DCP topology: 4 -> 8',
      'Unknown error',
    ],
  },
  {
    form: 'what was not given',
    cures: [
      ['Set the etcd endpoints (kubectl edit)', 'RuntimeError: No etcd endpoints provided'],
      ['Set the CPU memory (kubectl edit)', 'No CPU memory configured.'],
    ],
    others: ['No workers were found', 'No space left on device'],
  },
];

describe.each(FORMS)('the cure of $form, in the words of the sentence', ({ cures, others }) => {
  it.each(cures)('is %s', (says, sentence) => {
    expect(repairRefusedWords(sentence)?.says).toBe(says);
  });

  it.each(others)('is none of %s', (sentence) => {
    expect(repairRefusedWords(sentence)).toBeUndefined();
  });
});

describe('the cure of what a sentence refuses by its own words', () => {
  it.each(['the widget is out of tune', 'list index out of range', ''])('is none of %s', (sentence) => {
    expect(repairRefusedWords(sentence)).toBeUndefined();
  });
});
