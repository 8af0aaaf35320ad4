import { hasDiscovery } from '../../app/has-discovery.js';
import type { SettingError } from '../../app/setting-error.js';
import { checkDialled, checkFleet, collectionSettings } from './collection-settings.js';
import { checkDirect, directSettings } from './direct-settings.js';

const ownSettings = {
  aggregator: {
    kind: 'address',
    use: 'dial',
    group: 'Fleet',
    help: 'Ask this running aggregator instead of the workers.',
  },
  group: {
    kind: 'string',
    group: 'Fleet',
    placeholder: 'MODEL',
    help: 'The served model to wait for, when the fleet serves several.',
  },
  timeout: {
    kind: 'duration',
    default: '10m',
    group: 'Waiting',
    help: 'End with code 3 (code 5 when no worker can be reached) when nothing is agreed by then; 0 waits forever.',
  },
} as const;

/** What a command has that waits for one answer, which comes from the fleet itself or from an aggregator. */
export const answerSettings: typeof collectionSettings & typeof directSettings & typeof ownSettings = {
  ...collectionSettings,
  ...directSettings,
  ...ownSettings,
};

type FleetSettings = Parameters<typeof checkFleet>[0];
type DirectSettings = Parameters<typeof checkDirect>[0];
type Reject = (
  name: keyof typeof directSettings | 'workers' | 'workers-file' | 'dynamo-graph' | 'pool' | 'aggregator',
  allowed: string,
  value?: string,
) => SettingError;

/** Checks that there is one way to the answer, and that it is allowed. Engines that are read directly may do without workers that are found. */
export function checkAnswer(settings: FleetSettings & DirectSettings, reject: Reject): void {
  const { aggregator, kvEventSources } = settings;
  const isAlone = kvEventSources.length > 0 && !hasDiscovery(settings);
  if (!isAlone || aggregator !== undefined) {
    checkFleet(settings, reject);
    const problem = checkDialled(aggregator, settings);
    if (problem !== undefined) throw reject('aggregator', problem);
  }
  checkDirect(settings, reject);
}
