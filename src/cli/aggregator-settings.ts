import { checkFleet, collectionSettings } from './collection-settings.js';
import type { CommandDescription } from './command.js';
import { checkListen } from './common-settings.js';

const ownSettings = {
  'on-change': {
    kind: 'enum',
    choices: ['new-epoch', 'wait-all', 'refuse'],
    default: 'new-epoch',
    group: 'Agreement',
    help: 'When a majority comes to another value: follow it, wait until no worker holds the old one, or end with code 4.',
  },
  'frontend-uses': {
    kind: 'enum',
    choices: ['observed', 'declared'],
    default: 'observed',
    group: 'Agreement',
    help: 'Whether the frontend goes by what engines do or by what workers declare.',
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
export const aggregatorSettings: typeof collectionSettings & typeof ownSettings = {
  ...collectionSettings,
  ...ownSettings,
};

/** `kv-accord aggregator`. */
export const aggregatorDescription: CommandDescription<typeof aggregatorSettings> = {
  name: 'aggregator',
  summary: 'Beside a frontend: collect reports, open the gate when all agree',
  description:
    'Watches the sidecars of a fleet, opens the gate when all workers agree on one KV block size, and says who differs when they do not.',
  settings: aggregatorSettings,
  examples: [
    { says: 'Two workers', line: 'kv-accord aggregator --workers 10.0.0.1:50061,10.0.0.2:50061 --insecure' },
    {
      says: 'Every pod behind a headless Service',
      line: 'kv-accord aggregator --workers dns:///workers:50061 --min-workers 4 --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt',
    },
    { says: 'Is the gate open, and if not, why?', line: "curl '127.0.0.1:9463/readyz?verbose'" },
  ],
  check(settings, reject) {
    checkFleet(settings, reject);
    checkListen(settings, reject);
  },
};
