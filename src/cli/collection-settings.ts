import type { SettingError } from './settings/setting-error.js';

/** How a fleet is found and how it comes to agree: the same for every command that collects. */
export const collectionSettings = {
  workers: {
    kind: 'list',
    item: 'target',
    group: 'Fleet',
    help: 'Sidecars: HOST:PORT, unix:/path, or dns:///NAME:PORT for every address behind a name.',
  },
  'workers-file': {
    kind: 'file',
    mustBe: 'file',
    group: 'Fleet',
    help: 'YAML or JSON list of sidecars; watched for changes.',
  },
  'min-workers': {
    kind: 'integer',
    min: 1,
    max: 100_000,
    default: 1,
    group: 'Fleet',
    help: 'Nothing is agreed before so many workers have reported.',
  },
  'on-missing': {
    kind: 'enum',
    choices: ['wait', 'proceed'],
    default: 'wait',
    group: 'Fleet',
    help: 'Whether to go on without workers that have not reported within --collect-timeout.',
  },
  'collect-timeout': {
    kind: 'duration',
    default: '60s',
    min: '1s',
    group: 'Fleet',
    help: 'How long --on-missing proceed waits for the rest.',
  },
  settle: {
    kind: 'duration',
    default: '2s',
    max: '1h',
    group: 'Fleet',
    help: 'How long the fleet must have been unchanged.',
  },
  grace: {
    kind: 'duration',
    default: '30s',
    max: '1h',
    group: 'Fleet',
    help: 'How long a lost worker still counts as one that may return.',
  },
  'kv-cache-block-size': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    dynamo: 'DYN_KV_CACHE_BLOCK_SIZE',
    group: 'Agreement',
    help: 'Use this size whatever the workers report. Leave it out to take theirs.',
  },
  'mismatched-workers': {
    kind: 'enum',
    choices: ['quarantine', 'load-only'],
    defaultHelp: 'quarantine; load-only with --kv-cache-block-size',
    group: 'Agreement',
    help: 'Whether workers that differ get no requests, or requests without cache knowledge.',
  },
  topology: {
    kind: 'enum',
    choices: ['report', 'warn', 'require'],
    default: 'warn',
    group: 'Agreement',
    help: 'What to do when parallelism or GPU products differ.',
  },
} as const;

interface FleetSettings {
  readonly workers: readonly string[];
  readonly workersFile: string | undefined;
  readonly aggregator?: { readonly text: string } | undefined;
}

type FleetSetting = 'workers' | 'workers-file';
type Reject = (name: FleetSetting, allowed: string, value?: string) => SettingError;

/** Looks whether there is exactly one way to the fleet. `others` are ways beside `--workers` and `--workers-file`. */
export function checkFleet(settings: FleetSettings, reject: Reject): void {
  const hasList = settings.workers.length > 0;
  const hasFile = settings.workersFile !== undefined;
  const hasAggregator = settings.aggregator !== undefined;
  if (hasList && hasFile) throw reject('workers-file', 'left out when --workers is given');
  if (hasAggregator && hasList) throw reject('workers', 'left out when --aggregator is asked');
  if (hasAggregator && hasFile) throw reject('workers-file', 'left out when --aggregator is asked');
  if (hasList || hasFile || hasAggregator) return;
  const others = 'aggregator' in settings ? '--workers-file or --aggregator' : '--workers-file';
  throw reject('workers', `given, such as HOST:50061,… or dns:///NAME:50061; or ${others}`);
}
