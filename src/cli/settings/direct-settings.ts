import { readDirectSources } from '../../app/direct-sources.js';
import type { DirectEngines } from '../../app/direct-workers.js';
import type { WorkerPlaces } from '../../app/has-discovery.js';
import type { SettingError } from '../../app/setting-error.js';
import type { Address } from '../../edge/platform/address.js';

/** Engines that a command reads itself: the same for every command that can. */
export const directSettings = {
  'kv-event-sources': {
    kind: 'list',
    item: 'target',
    placeholder: 'WORKER=URL,…',
    group: 'Fleet',
    help: 'Engines without a sidecar, whose KV events this process reads itself: WORKER=tcp://HOST:PORT, one URL for each data-parallel rank, in order; an @ in front of the URL binds. WORKER may be one that --workers finds by its Dynamo model card, by its name there, its instance id or HOST:PORT of its system port: its card and its events are then compared. Others need --model. A silent engine and one that is not there look the same until the engine caches the first block of a prompt.',
  },
  'kv-replay-sources': {
    kind: 'list',
    item: 'target',
    placeholder: 'WORKER=URL,…',
    group: 'Fleet',
    help: 'Where these engines replay old KV events, in the same form and order.',
  },
  model: {
    kind: 'string',
    group: 'Fleet',
    help: 'The served model of the engines of --kv-event-sources: their events do not name it.',
  },
} as const;

interface DirectSettings extends WorkerPlaces, DirectEngines {
  readonly aggregator?: Address | undefined;
}

/** Whether workers that are found there come with the name of their model. */
function namesModels(target: string): boolean {
  return /^dynamo-(file|k8s):/i.test(target);
}

/** Checks that the engines that are read directly are named as they must be. */
export function checkDirect(
  settings: DirectSettings,
  reject: (name: keyof typeof directSettings, allowed: string, value?: string) => SettingError,
): void {
  const { kvEventSources, kvReplaySources, model } = settings;
  const sources = readDirectSources(kvEventSources);
  if ('allowed' in sources) throw reject('kv-event-sources', sources.allowed, sources.part);
  const replays = readDirectSources(kvReplaySources);
  if ('allowed' in replays) throw reject('kv-replay-sources', replays.allowed, replays.part);
  for (const [worker, urls] of replays) {
    const ranks = sources.get(worker)?.length;
    if (ranks === undefined) throw reject('kv-replay-sources', 'of workers of --kv-event-sources', worker);
    if (urls.length !== ranks)
      throw reject('kv-replay-sources', `as many for ${worker} as its --kv-event-sources: ${ranks}`);
    const bound = urls.find((url) => url.startsWith('@'));
    if (bound !== undefined)
      throw reject('kv-replay-sources', 'without @: a replay socket is bound by the engine', bound);
  }
  if (sources.size === 0) return;
  if (settings.aggregator !== undefined)
    throw reject('kv-event-sources', 'left out when --aggregator is asked: give them to the aggregator');
  if (model === undefined && !settings.workers.some(namesModels))
    throw reject('model', "given with --kv-event-sources: engines' events do not name their model");
}
