import { describe, expect, it } from 'vitest';
import { repairNamed } from '../../../../src/tools/doctor/fixes/named-settings.js';

const CURES: readonly (readonly [says: string, sentence: string])[] = [
  ['Set FROB_TYPE=remote (kubectl edit)', 'frob sync requires FROB_TYPE=remote (got "character")'],
  [
    'Set use_frob (or --use-frob) to true, or start the program without frob_events (or --frob-events) (kubectl edit)',
    'frob_events requires use_frob=true',
  ],
  ['Set FROB_DOMAIN (kubectl edit)', 'FROB_ENABLED=true but FROB_DOMAIN is not set.'],
  ['Set --frob-file (kubectl edit)', '--frob-file is required when running in standalone mode'],
  [
    'Set FROB_SPACE to a positive integer value in place of 40GiB (kubectl edit)',
    'Invalid environment variable FROB_SPACE 40GiB, expect a positive integer value.',
  ],
  [
    'Set frob_rank (or --frob-rank) to a value that is less than frobs=2 (kubectl edit)',
    'frob_rank=2 must be less than frobs=2.',
  ],
  [
    'Set frob_rank (or --frob-rank) to a value that is in the range [0, 8) (kubectl edit)',
    'frob_rank (16) must be in the range [0, 8)',
  ],
  [
    "Set frob_pool to one of 'NVLINK' or 'BAREX' in place of x (kubectl edit)",
    "Unsupported frob_pool='x', expected 'NVLINK' or 'BAREX'",
  ],
  [
    'Set frob_config.dtype_name to one of "auto", "fp8", or a valid dtype (kubectl edit)',
    'frob_config.dtype_name must be one of "auto", "fp8", or a valid dtype',
  ],
  [
    'Give frob_pub_url (or --frob-pub-url) and frob_ack_url (or --frob-ack-url) different values (kubectl edit)',
    'frob_pub_url and frob_ack_url must differ (same endpoint would fail to bind).',
  ],
  [
    'Set only one of FROB_A and FROB_B (kubectl edit)',
    'FROB_A and FROB_B are mutually exclusive; enable only one',
  ],
  [
    'Set frob_rank (or --frob-rank), or node_rank (or --node-rank) (kubectl edit)',
    'frob_rank or node_rank must be specified if frob_lb is enabled.',
  ],
  [
    'Set kv_role (or --kv-role), or start the program without kv_frob (or --kv-frob) (kubectl edit)',
    'Please specify kv_role when kv_frob is set, supported roles are (1, 2)',
  ],
  [
    'Set frob_bytes in kv_connector_extra_config (kubectl edit)',
    'frob_bytes must be specified in kv_connector_extra_config',
  ],
  [
    "Set FROB_PLANE to one of 'nats', 'zmq' in place of tcp (kubectl edit)",
    "Invalid FROB_PLANE value 'tcp'. Valid values: 'nats', 'zmq'",
  ],
  [
    'Set block_size (or --block-size) to a multiple of 16 (kubectl edit); router and pair must follow',
    'block_size must be a multiple of 16',
  ],
  [
    'Set DYN_EPP_MODE to "standalone" or "discovery" in place of alone (kubectl edit)',
    'Error: DYN_EPP_MODE has invalid value "alone"; expected "standalone" or "discovery"',
  ],
  [
    'Set DYN_EPP_BLOCK_SIZE to a value that it takes (invalid digit found in string) in place of 16k (kubectl edit)',
    'Error: DYN_EPP_BLOCK_SIZE has an invalid value "16k": invalid digit found in string',
  ],
];

describe('the cure of a setting that a sentence names', () => {
  it.each(CURES)('is %s', (says, sentence) => {
    expect(repairNamed(sentence)?.says).toBe(says);
  });

  it.each([
    'the widget is out of tune',
    'frob backend requires intel_extension_for_frob support',
    'world_size (12) must be a multiple of the devices',
  ])('is none of %s', (sentence) => {
    expect(repairNamed(sentence)).toBeUndefined();
  });
});
