import { checkFleet, collectionSettings } from './collection-settings.js';
import type { CommandDescription } from './command.js';

const ownSettings = {
  aggregator: {
    kind: 'address',
    use: 'dial',
    group: 'Fleet',
    help: 'Ask this running aggregator in place of the workers.',
  },
  group: {
    kind: 'string',
    group: 'Fleet',
    placeholder: 'MODEL',
    help: 'The served model to wait for, when the fleet serves several.',
  },
  'frontend-uses': {
    kind: 'enum',
    choices: ['observed', 'declared'],
    default: 'observed',
    group: 'Agreement',
    help: 'Whether the frontend goes by what engines do or by what workers declare.',
  },
  timeout: {
    kind: 'duration',
    default: '10m',
    group: 'Waiting',
    help: 'End with code 3 when nothing is agreed by then; 0 waits for ever.',
  },
} as const;

/** The settings of `kv-accord wait`. */
export const waitSettings: typeof collectionSettings & typeof ownSettings = {
  ...collectionSettings,
  ...ownSettings,
};

/** `kv-accord wait`. */
export const waitDescription: CommandDescription<typeof waitSettings> = {
  name: 'wait',
  summary: 'Block until all workers agree, then end (for init containers)',
  description:
    'Blocks until all workers agree on one KV block size. Exit codes: 0 agreed, 2 bad usage, 3 timed out, 4 conflict, 5 fleet not reachable, 128+n ended by signal n.',
  settings: waitSettings,
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
  check: checkFleet,
};
