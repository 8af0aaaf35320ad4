/** A flag that releases of a program have under another name, or elsewhere. */
interface RenamedFlag {
  /** What to write in its place, after "Write" or as a whole instruction. */
  readonly now: string;
  /** Which releases have it so. */
  readonly since: string;
}

const FROM_1_0 = 'Dynamo 1.0 and later';
const BEFORE_1_0 = 'Dynamo before 1.0';

/** Flags of Dynamo whose name no other program has, from the arguments of its components in 0.5 to 1.6. */
const RENAMED: Readonly<Record<string, RenamedFlag>> = {
  '--is-prefill-worker': { now: '--disaggregation-mode prefill', since: FROM_1_0 },
  '--is-decode-worker': { now: '--disaggregation-mode decode', since: FROM_1_0 },
  '--no-kv-events': { now: '--no-router-kv-events', since: FROM_1_0 },
  '--no-router-kv-events': { now: '--no-kv-events', since: BEFORE_1_0 },
  '--router-kv-overlap-score-weight': { now: '--kv-overlap-score-weight', since: BEFORE_1_0 },
  '--router-kv-overlap-score-credit': { now: '--router-kv-overlap-score-weight', since: 'Dynamo 1.0' },
  '--busy-threshold': { now: '--active-decode-blocks-threshold', since: 'Dynamo 0.9 and later' },
  '--active-decode-blocks-threshold': { now: '--busy-threshold', since: 'Dynamo up to 0.7' },
  '--store-kv': { now: '--discovery-backend', since: FROM_1_0 },
  '--discovery-backend': { now: '--store-kv', since: BEFORE_1_0 },
  '--publish-kv-events': { now: '--publish-events-and-metrics', since: 'earlier releases of Dynamo' },
};

/** Flags that have gone, with what does their work. */
const MOVED: Readonly<Record<string, string>> = {
  '--migration-limit': 'move --migration-limit from the worker to the frontend (Dynamo 1.0 and later)',
  '--enable-local-indexer':
    'drop --enable-local-indexer: workers have a local indexer by themselves (Dynamo 1.0 and later)',
  '--durable-kv-events':
    'drop --durable-kv-events: routers ask the local indexers of workers (Dynamo after 1.0)',
  '--router-reset-states':
    'drop --router-reset-states: routers keep nothing over a restart (Dynamo after 1.0)',
  '--static-endpoint': 'drop --static-endpoint: workers register themselves (Dynamo 0.9 and later)',
};

/** What to do about a flag that a program does not know, where its releases have it under another name; undefined for others. */
export function renamedFlag(flag: string): string | undefined {
  const renamed = RENAMED[flag];
  if (renamed !== undefined) return `write ${renamed.now} in place of ${flag} (${renamed.since})`;
  return MOVED[flag];
}
