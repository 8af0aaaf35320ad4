import { hasDiscovery } from '../../../app/has-discovery.js';
import type { CommandDescription } from '../../command.js';
import { checkFleet, collectionSettings } from '../../settings/collection-settings.js';
import { checkListen } from '../../settings/common-settings.js';
import { checkDirect, directSettings } from '../../settings/direct-settings.js';
import { routerSettings } from '../../settings/router-settings.js';

const ownSettings = {
  'block-size-policy': {
    kind: 'enum',
    choices: ['refuse', 'rehash'],
    default: 'refuse',
    group: 'Agreement',
    help: 'When workers have different block sizes: keep the gate shut, or agree on the least common multiple (at most 2,048 tokens), into which sidecars re-hash smaller blocks.',
  },
  'on-change': {
    kind: 'enum',
    choices: ['new-epoch', 'wait-all', 'refuse'],
    default: 'new-epoch',
    group: 'Agreement',
    help: 'When a majority of workers changes to another value: follow it, wait until no worker has the old one, or end with code 4.',
  },
  'frontend-uses': {
    kind: 'enum',
    choices: ['observed', 'declared'],
    default: 'observed',
    group: 'Agreement',
    help: 'Whether the frontend uses the block size that engines are seen to use, or the one that workers declare.',
  },
  'kv-events': {
    kind: 'boolean',
    default: true,
    dynamo: ['DYN_ROUTER_USE_KV_EVENTS', 'DYN_USE_KV_EVENTS', 'DYN_KV_EVENTS'],
    group: 'Index',
    help: 'Know what workers hold from their KV events. --no-kv-events guesses it from where requests are sent.',
  },
  'index-memory': {
    kind: 'size',
    default: '4GiB',
    min: '16MiB',
    max: '4GiB',
    group: 'Index',
    help: 'Most memory for the index of one model, allocated as needed. A block that one worker holds takes about 24 bytes; one that many share takes hardly more.',
  },
  'router-ttl-secs': {
    // Dynamo writes it as a float: 120.0.
    kind: 'number',
    min: 1,
    max: 2_073_600,
    default: 120,
    dynamo: ['DYN_ROUTER_TTL_SECS'],
    group: 'Index',
    help: 'With --no-kv-events: seconds after which a block is no longer expected where it was sent.',
  },
  'router-max-tree-size': {
    kind: 'integer',
    min: 1,
    max: 67_108_864,
    default: 1_048_576,
    dynamo: ['DYN_ROUTER_MAX_TREE_SIZE'],
    group: 'Index',
    help: 'With --no-kv-events: most blocks that are expected somewhere; beyond it the oldest are dropped.',
  },
  'router-prune-target-ratio': {
    kind: 'number',
    min: 0,
    isMinExcluded: true,
    max: 1,
    default: 0.8,
    placeholder: 'RATIO',
    dynamo: ['DYN_ROUTER_PRUNE_TARGET_RATIO'],
    group: 'Index',
    help: 'With --no-kv-events: the part of --router-max-tree-size that is kept when the oldest are dropped.',
  },
  'expected-models': {
    kind: 'list',
    item: 'model',
    group: 'Serving',
    help: 'Models that must always be served, for metrics and alerts: one that has no workers shows in /metrics for as long as that lasts. By default every model that was served, until 6 hours after its last worker left.',
  },
  listen: {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:50060',
    group: 'Serving',
    help: 'Where gRPC is served.',
  },
  'http-listen': {
    kind: 'address',
    use: 'listen',
    default: '127.0.0.1:9463',
    group: 'Serving',
    help: 'Where probes, metrics and the status page are served.',
  },
} as const;

/** The settings of `kv-accord aggregator`. */
export const aggregatorSettings: typeof collectionSettings &
  typeof directSettings &
  typeof ownSettings &
  typeof routerSettings = {
  ...collectionSettings,
  ...directSettings,
  ...ownSettings,
  ...routerSettings,
};

/** `kv-accord aggregator`. */
export const aggregatorDescription: CommandDescription<typeof aggregatorSettings> = {
  name: 'aggregator',
  summary: 'Beside a frontend: collect reports, and open the gate when all workers agree',
  description:
    'Watches the sidecars of a fleet, opens the gate when all workers agree on one KV block size, and names the workers that differ when they do not.',
  settings: aggregatorSettings,
  isServer: true,
  examples: [
    { says: 'Two workers', line: 'kv-accord aggregator --workers 10.0.0.1:50061,10.0.0.2:50061 --insecure' },
    {
      says: 'Every pod behind a headless Service',
      line: 'kv-accord aggregator --workers dns:///workers:50061 --min-workers 4 --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt',
    },
    {
      says: 'An engine without a sidecar',
      line: 'kv-accord aggregator --kv-event-sources w-1=tcp://10.0.0.1:5557 --model llama',
    },
    { says: 'Is the gate open, and if not, why?', line: "curl '127.0.0.1:9463/readyz?verbose'" },
  ],
  check(settings, reject) {
    const readsDirectly = settings.kvEventSources.length > 0;
    // Engines that are read directly need no sidecar beside them.
    if (hasDiscovery(settings) || !readsDirectly) checkFleet(settings, reject);
    if (readsDirectly && !settings.kvEvents) throw reject('kv-event-sources', 'left out with --no-kv-events');
    checkDirect(settings, reject);
    checkListen(settings, reject);
  },
};
