import type { CommandDescription } from '../../command.js';
import { askedSettings } from '../../settings/asked-settings.js';
import { OF_SERVERS } from '../../settings/common-settings.js';

const ownSettings = {
  once: {
    kind: 'boolean',
    group: 'Output',
    help: 'Look for a second, print it, and end. Also where standard output is no terminal.',
  },
  sort: {
    kind: 'enum',
    choices: ['state', 'name', 'requests', 'load', 'tokens', 'ttft', 'errors', 'blocks'],
    default: 'state',
    group: 'Output',
    help: 'What workers are sorted by: state has the worst first, the others the most.',
  },
  filter: {
    kind: 'string',
    group: 'Output',
    placeholder: 'TEXT',
    help: 'Only workers with this text in their name, state, role, engine, node or model.',
  },
  group: {
    kind: 'string',
    group: 'Output',
    placeholder: 'MODEL',
    help: 'Only this served model.',
  },
} as const;

/** The settings of `kv-accord top`. */
export const topSettings: typeof ownSettings & typeof askedSettings = {
  ...ownSettings,
  ...askedSettings,
};

/** What workers can be sorted by. */
export type Sort = (typeof topSettings.sort.choices)[number];

/** All of them, in the order of the key. */
export const SORTS: readonly Sort[] = topSettings.sort.choices;

/** `kv-accord top`. */
export const topDescription: CommandDescription<typeof topSettings> = {
  name: 'top',
  summary: 'Workers, routing and what happened, live in a terminal',
  description:
    'Shows what an aggregator or a frontend does now: its models, the requests, tokens and errors of each worker, hits and lost hits, the last decisions and the timeline. Keys: s sorts, r reverses, / filters, m takes the next model, Tab or 1 2 3 shows workers, decisions or the timeline, arrows, PgUp, PgDn, Home and End move, q ends.',
  operands: {
    syntax: '[HOST:PORT]',
    help: 'gRPC address of an aggregator or a frontend (default: 127.0.0.1:50060)',
  },
  settings: topSettings,
  unread: OF_SERVERS,
  examples: [
    { says: 'The aggregator on this machine', line: 'kv-accord top' },
    { says: 'Who has failed most, for a ticket', line: 'kv-accord top --once --sort errors' },
    { says: 'All of it, for programs', line: 'kv-accord top --json' },
  ],
};
