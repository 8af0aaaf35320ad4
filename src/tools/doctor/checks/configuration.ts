import { isFalse } from '../measurements/setting-values.js';
import { basisText, ownerOf } from '../measurements/sizes.js';
import { type Asked, answered, type Check, missing, type Reply, settingText } from './check.js';

/** Block sizes that one answer names. */
const MAX_SIZES = 6;

/** Tokens of a block from which on it is longer than many a system prompt. */
const LARGE_BLOCK_TOKENS = 256;

/** What is configured, on every side. */
export const CONFIGURATION_CHECKS: readonly Check[] = [
  {
    id: 'engine_block_size',
    asks: 'Which block size do the engines use?',
    answer: (asked) => sizesOf(asked, true),
  },
  {
    id: 'router_block_size',
    asks: 'Which block size does the router assume?',
    answer: (asked) => sizesOf(asked, false),
  },
  {
    id: 'kv_memory_setting',
    asks: 'How much memory are engines configured to use for their KV cache?',
    answer({ measurements }) {
      const found =
        settingText(measurements, 'free_gpu_memory_fraction') ??
        settingText(measurements, 'gpu_memory_utilization') ??
        cacheBytes(measurements);
      return found === undefined
        ? missing(
            'The setting was not seen: add --manifests DEPLOYMENT.yaml, --engine-config FILE, or the log of a worker with --logs.',
          )
        : answered(
            `${found.origin.text === '' ? found.text : `${found.text} (${found.origin.text})`}`,
            found.origin,
          );
    },
  },
  {
    id: 'router_index_settings',
    asks: "Which time-to-live, tree size and synchronisation does the router's index have?",
    answer: routerIndex,
  },
  {
    id: 'prefix_caching',
    asks: 'Do engines keep blocks for later prompts?',
    answer({ measurements }) {
      const caching = settingText(measurements, 'prefix_caching');
      const { engineHits } = measurements;
      if (engineHits !== undefined && engineHits.share > 0)
        return answered('Yes: prompts were served from their caches.', engineHits.origin);
      return caching === undefined
        ? missing(
            'No setting and no hit of an engine was seen: add --metrics http://ENGINE:PORT/metrics or the manifests.',
          )
        : answered(`Prefix caching is ${caching.text}.${largeBlocksText(measurements)}`, caching.origin);
    },
  },
];

/** Blocks of models with state-space layers, which are larger than many a shared prefix: less than a whole one is never found. */
function largeBlocksText({ signal }: Asked['measurements']): string {
  const changed = signal('block_size_changed_by_engine')?.values.keys() ?? [];
  const size = Math.max(0, ...[...changed].map((value) => Number(/(\d{1,7})$/.exec(value)?.[1] ?? 0)));
  return size < LARGE_BLOCK_TOKENS
    ? ''
    : ` The engine made its blocks ${size} tokens long, as for models with Mamba or linear attention: prompts that share fewer tokens than that from their beginning find nothing. vLLM caches such models only with --enable-prefix-caching, and up to 0.32 their states with --mamba-cache-mode align or all.`;
}

function sizesOf({ measurements }: Asked, isWorker: boolean): Reply {
  const { sizes } = measurements;
  const rows = sizes.rows.filter(({ side }) => (side === 'worker') === isWorker);
  const [first] = rows;
  if (first === undefined)
    return (
      fromCards(measurements, isWorker) ??
      missing(
        isWorker
          ? 'No number of an engine was seen: add --metrics http://ENGINE:PORT/metrics, the log of a worker, or the manifests.'
          : 'No number of a router was seen: add --metrics http://FRONTEND:8000/metrics of the router, or the manifests.',
      )
    );
  const shown = rows
    .slice(0, MAX_SIZES)
    .map((row) => `${ownerOf(row)} ${row.tokensPerBlock} ${basisText(row)}`);
  return answered(`${shown.join('; ')}.`, first.origin);
}

/** `39.7 GiB`, of the engines that report it. */
function cacheBytes({ settings }: Asked['measurements']): ReturnType<typeof settingText> {
  const all = settings('kv_cache_bytes');
  const [first] = all;
  if (first === undefined) return undefined;
  const texts = all.map(({ value }) =>
    Number(value) > 0 ? `${(Number(value) / 2 ** 30).toFixed(1)} GiB` : value,
  );
  return { text: [...new Set(texts)].join(', '), origin: first.origin };
}

/** A router inside a frontend takes its number from the cards of the workers, where the version does not say otherwise. */
function fromCards({ sizes, seen, dynamo }: Asked['measurements'], isWorker: boolean): Reply | undefined {
  if (isWorker || !seen.dynamo || dynamo.decides === 'variable') return undefined;
  const declared = sizes.rows
    .flatMap((row) => [row, ...row.otherwise])
    .filter(({ side, basis }) => side === 'worker' && basis === 'declared');
  const [first] = declared;
  if (first === undefined) return undefined;
  const numbers = [...new Set(declared.map(({ tokensPerBlock }) => tokensPerBlock))];
  return answered(
    `Its own was not seen. A router inside a frontend takes the number of the cards, and workers publish by ${numbers.join(', ')}; the gauge dynamo_frontend_model_kv_cache_block_size shows it.`,
    first.origin,
  );
}

function routerIndex({ measurements }: Asked): Reply {
  const { seen, settings } = measurements;
  const guesses = settings('router_uses_events').find(({ value }) => isFalse(value));
  const reads = settings('router_uses_events').find(({ value }) => !isFalse(value));
  const ttl = settingText(measurements, 'router_ttl_seconds');
  const tree = settingText(measurements, 'router_max_tree_size');
  const prune = settingText(measurements, 'router_prune_target_ratio');
  const snapshot = settingText(measurements, 'router_snapshot_threshold');
  const sync = settingText(measurements, 'router_replica_sync');
  const wasSet = [ttl, tree, prune, snapshot, sync].some((one) => one !== undefined);
  if (!seen.router) return missing('No router was seen: add its manifests, its log or its metrics.');
  if (!wasSet && guesses === undefined && reads === undefined)
    return missing(
      'How the router was started was not seen: add --manifests with its deployment or start script.',
    );
  const parts = [
    guesses === undefined
      ? `it reads KV events, and then keeps blocks until their worker drops them: a time-to-live (${ttl?.text ?? 'not set'}) and a largest tree (${tree?.text ?? 'not set'}) only count for a router that does not read events`
      : `it does not read KV events and forgets a block ${ttl === undefined ? 'after its default of 120' : `after ${ttl.text}`} seconds; largest tree ${tree?.text ?? 'not set'}`,
    `synchronisation between frontends ${sync?.text ?? 'not set, which is off'}`,
    ...(prune === undefined ? [] : [`a tree that is full is pruned to ${prune.text} of its size`]),
    ...(snapshot === undefined ? [] : [`snapshot threshold ${snapshot.text}`]),
    'events are pushed as they happen; there is no interval to set',
  ];
  const origin = (guesses ?? reads)?.origin ?? (ttl ?? tree ?? prune ?? sync ?? snapshot)?.origin;
  return answered(`${parts.join('; ')}.`, origin);
}
