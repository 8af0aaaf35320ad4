import type { CommandDescription } from '../../command.js';
import { answerSettings, checkAnswer } from '../../settings/answer-settings.js';
import { OF_SERVERS } from '../../settings/common-settings.js';

const ownSettings = {
  'frontend-uses': {
    kind: 'enum',
    choices: ['observed', 'declared'],
    default: 'observed',
    group: 'Agreement',
    help: 'Whether the frontend goes by what engines do or by what workers declare.',
  },
} as const;

/** The settings of `kv-accord wait`. */
export const waitSettings: typeof answerSettings & typeof ownSettings = {
  ...answerSettings,
  ...ownSettings,
};

/** `kv-accord wait`. */
export const waitDescription: CommandDescription<typeof waitSettings> = {
  name: 'wait',
  summary: 'Block until all workers agree, then end (for init containers)',
  description:
    'Blocks until all workers agree on one KV block size. Exit codes: 0 agreed, 2 bad usage, 3 timed out, 4 conflict, 5 fleet not reachable, 128+n ended by signal n.',
  settings: waitSettings,
  unread: OF_SERVERS,
  examples: [
    {
      says: 'In an init container',
      line: 'kv-accord wait --workers dns:///workers:50061 --min-workers 4 --tls-ca ca.crt',
    },
    {
      says: 'Ask an aggregator, at most 2 minutes',
      line: 'kv-accord wait --aggregator 127.0.0.1:50060 --timeout 2m',
    },
  ],
  check: checkAnswer,
};
