import { describe, expect, it } from 'vitest';
import { repairRefusedWords } from '../../../../src/tools/doctor/fixes/refused-words.js';

const CURES: readonly (readonly [says: string, sentence: string])[] = [
  [
    'Start the program without Hugepages, or without P2P mode (kubectl edit)',
    'ValueError: Hugepages are not supported with P2P mode',
  ],
  [
    'Start the program without service discovery, or with something else than OpenAI mode (kubectl edit)',
    'OpenAI mode does not support service discovery',
  ],
  ['Start the program without Sleep mode (kubectl edit)', 'Sleep mode is not supported on current platform.'],
  [
    'Give it TP=1 (kubectl edit), or start the program without DaxBackend',
    'DaxBackend currently only supports TP=1 (world_size=4)',
  ],
  ['Set at least one cache tier (kubectl edit)', 'At least one cache tier must be configured.'],
  [
    'Set Etcd endpoints, or start the program without enable_ha (kubectl edit)',
    'Etcd endpoints must be set when enable_ha',
  ],
  [
    "Set NUMA mode to either 'auto', 'manual', or None (kubectl edit)",
    "NUMA mode must be either 'auto', 'manual', or None. Current mode: numa0",
  ],
  [
    'Give the program exactly two connectors, or start it without PdConnector (kubectl edit)',
    'PdConnector requires exactly two connectors (got 3)',
  ],
  [
    'Correct port (kubectl edit): Port must be > 0',
    "Error: InvalidValue: Invalid value for field 'port': 0 - Port must be > 0",
  ],
];

describe('the cure of what a sentence refuses by its own words', () => {
  it.each(CURES)('is %s', (says, sentence) => {
    expect(repairRefusedWords(sentence)?.says).toBe(says);
  });

  it('names a value that is not known', () => {
    expect(repairRefusedWords('Unsupported KV pool backend: redis')?.says).toMatch(
      /^Correct the KV pool backend "redis" \(/,
    );
  });

  it.each(['the widget is out of tune', 'It does not support that', 'list index out of range'])(
    'is none of %s',
    (sentence) => {
      expect(repairRefusedWords(sentence)).toBeUndefined();
    },
  );
});
