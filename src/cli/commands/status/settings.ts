import type { CommandDescription } from '../../command.js';
import { askedSettings } from '../../settings/asked-settings.js';
import { OF_SERVERS } from '../../settings/common-settings.js';

const ownSettings = {
  watch: {
    kind: 'boolean',
    group: 'Output',
    help: 'Stay, and show every change. On a terminal the keys of less move (arrows, PgUp, PgDn, Home, End, j, k); q ends.',
  },
  index: {
    kind: 'boolean',
    group: 'Output',
    help: "Show what an aggregator's index holds in place of its fleet; with --json every entry, one a line.",
  },
  routing: {
    kind: 'boolean',
    group: 'Output',
    help: 'Show how predictions of caches came true by worker, and which hits were lost, in place of the fleet.',
  },
  topology: {
    kind: 'boolean',
    group: 'Output',
    // A sidecar's variable of this name has the path of a file.
    inEnvironment: false,
    help: 'Show nodes, GPUs and their links in place of block sizes: of a sidecar, every device and link.',
  },
  pairs: {
    kind: 'boolean',
    group: 'Output',
    help: 'Show which prefill worker can hand its KV blocks to which decode worker, how near they are, what transfers take, and why not, in place of the fleet.',
  },
  group: {
    kind: 'string',
    group: 'Output',
    placeholder: 'MODEL',
    help: 'With --index, --routing or --pairs: the served model, when the fleet serves several.',
  },
} as const;

/** The settings of `kv-accord status`. */
export const statusSettings: typeof ownSettings & typeof askedSettings = {
  ...ownSettings,
  ...askedSettings,
};

/** `kv-accord status`. */
export const statusDescription: CommandDescription<typeof statusSettings> = {
  name: 'status',
  summary: 'The fleet as a table, live with --watch',
  description:
    'Shows what an aggregator has agreed and who its workers are, or what a single sidecar reports.',
  operands: {
    syntax: '[HOST:PORT]',
    help: 'gRPC address of an aggregator or a sidecar (default: 127.0.0.1:50060)',
  },
  settings: statusSettings,
  unread: OF_SERVERS,
  examples: [
    { says: 'The aggregator on this machine', line: 'kv-accord status' },
    { says: 'One sidecar', line: 'kv-accord status 127.0.0.1:50061' },
    { says: 'For programs', line: 'kv-accord status --json' },
    { says: 'Who holds how many blocks', line: 'kv-accord status --index' },
    { says: 'Whether predictions come true', line: 'kv-accord status --routing' },
    { says: 'Which prefill and decode workers go together', line: 'kv-accord status --pairs' },
    { says: 'Which GPUs each worker has, and where', line: 'kv-accord status --topology' },
  ],
  check({ index, routing, topology, pairs, watch, group }, reject) {
    if (index && watch) throw reject('watch', 'left out with --index', 'true');
    if (index && routing) throw reject('routing', 'left out with --index', 'true');
    if (topology && (index || routing))
      throw reject('topology', `left out with ${index ? '--index' : '--routing'}`, 'true');
    if (pairs && (index || routing || topology))
      throw reject(
        'pairs',
        `left out with ${index ? '--index' : routing ? '--routing' : '--topology'}`,
        'true',
      );
    if (!index && !routing && !pairs && group !== undefined)
      throw reject('group', 'left out without --index, --routing or --pairs');
  },
};
