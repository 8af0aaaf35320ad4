import type { CommandDescription } from '../../command.js';
import { OF_PEERS } from '../../settings/common-settings.js';

/** The settings of `kv-accord demo`. */
export const demoSettings = {
  scenario: {
    kind: 'enum',
    choices: [
      'all',
      'agreement',
      'kv-events',
      'late-joiner',
      'conflict',
      'override',
      'rolling-change',
      'declared',
      'routing',
      'racks',
    ],
    default: 'all',
    group: 'Story',
    help: 'Which part of the story to show.',
  },
  keep: {
    kind: 'boolean',
    group: 'Story',
    help: "Leave the last part's fleet running at the end, to ask with curl and to look at with kv-accord top, grpcurl and a browser. Ctrl-C ends it.",
  },
} as const;

/** `kv-accord demo`. */
export const demoDescription: CommandDescription<typeof demoSettings> = {
  name: 'demo',
  summary: 'The whole story on this machine, with simulated engines',
  description:
    'Starts simulated engines with sidecars and an aggregator on free ports of this machine, shows what happens when block sizes agree and differ and what a frontend makes of it, and cleans up.',
  settings: demoSettings,
  unread: [...OF_PEERS, 'insecure'],
  examples: [
    { says: 'Everything', line: 'kv-accord demo' },
    { says: 'One part, and leave it running', line: 'kv-accord demo --scenario late-joiner --keep' },
  ],
};
