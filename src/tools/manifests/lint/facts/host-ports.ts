import { jsonObjectIn } from '../config/json-object.js';
import type { Launch } from '../launches/launch.js';
import { flagOf, numberOf, variableOf } from '../launches/settings.js';
import type { Span } from '../text/span.js';
import { readPairFacts } from './pair-facts.js';
import { listenerOf as sideChannelOf } from './side-channel-listener.js';
import type { WorkerFacts } from './worker-facts.js';

/** A port of its host at which an engine listens for others than its users. */
export interface HostPort {
  readonly worker: WorkerFacts;
  readonly what: string;
  readonly setting: string;
  readonly port: number;
  /** One more for each data-parallel rank. */
  readonly count: number;
  readonly isDefault: boolean;
  readonly span: Span;
}

/** Ranks of one engine on one host: more say nothing any more. */
const MAX_RANKS = 64;

/** What engines publish KV events at where their configuration does not say it (`KVEventsConfig` of vLLM and of SGLang). */
const EVENTS_ENDPOINT = 'tcp://*:5557';

/** Ports of LMCache that are its own where a variable says them (`lmcache/v1/config.py`): a list of them has one for each rank. */
const LMCACHE_PORTS: ReadonlyMap<string, string> = new Map([
  ['LMCACHE_LMCACHE_WORKER_PORTS', "port of LMCache's worker"],
  ['LMCACHE_P2P_INIT_PORTS', "port of LMCache's peers"],
  ['LMCACHE_P2P_LOOKUP_PORTS', "port of LMCache's lookups"],
  ['LMCACHE_PD_PEER_INIT_PORT', "port of LMCache's transfers"],
  ['LMCACHE_PD_PEER_ALLOC_PORT', "port of LMCache's transfers"],
]);

/** All of those ports of a worker that are written, or certain by default. */
export function hostPortsOf(worker: WorkerFacts): readonly HostPort[] {
  const sideChannel = sideChannelOf(readPairFacts(worker));
  return [
    ...(sideChannel === undefined ? [] : [{ ...sideChannel, worker }]),
    ...eventPorts(worker),
    ...mooncakePort(worker),
    ...lmcachePorts(worker),
  ];
}

/** Where KV events are published, and asked for again. A publisher that connects listens nowhere. */
function eventPorts(worker: WorkerFacts): readonly HostPort[] {
  const { launch } = worker;
  const setting = flagOf(launch, '--kv-events-config');
  const config = jsonObjectIn(setting?.value ?? '');
  if (setting === undefined || config === undefined || isFollower(launch)) return [];
  const isOn =
    launch.backend === 'sglang'
      ? config['publisher'] === 'zmq'
      : config['enable_kv_cache_events'] === true && (config['publisher'] ?? 'zmq') === 'zmq';
  const ranks = ranksOf(launch);
  if (!isOn || ranks === undefined) return [];
  const at = (endpoint: unknown, what: string, binds: boolean): readonly HostPort[] => {
    const port = /^tcp:\/\/.*:(\d{1,5})$/.exec(typeof endpoint === 'string' ? endpoint : '')?.[1];
    if (port === undefined || port === '0' || !binds) return [];
    const isDefault = what === EVENTS && config['endpoint'] === undefined;
    return [
      {
        worker,
        what,
        isDefault,
        count: ranks.count,
        setting: `${what === EVENTS ? 'endpoint' : 'replay_endpoint'} of --kv-events-config`,
        port: Number(port) + ranks.first,
        span: setting.span,
      },
    ];
  };
  const endpoint = config['endpoint'] ?? EVENTS_ENDPOINT;
  const isBound = config['bind'] === true || (config['bind'] !== false && /\*|::/.test(String(endpoint)));
  return [...at(endpoint, EVENTS, isBound), ...at(config['replay_endpoint'], REPLAY, true)];
}

const EVENTS = 'publisher of KV events';
const REPLAY = 'replay of KV events';

/** Of Mooncake's connector in vLLM each prefill engine has a bootstrap server (`mooncake_connector.py`). */
function mooncakePort(worker: WorkerFacts): readonly HostPort[] {
  const { launch } = worker;
  const facts = readPairFacts(worker);
  const isPrefill = facts?.kvRole === 'kv_producer' || facts?.kvRole === 'kv_both';
  if (launch.backend !== 'vllm' || facts?.connector !== 'MooncakeConnector' || !isPrefill) return [];
  const name = 'VLLM_MOONCAKE_BOOTSTRAP_PORT';
  const given = variableOf(launch, name);
  const port = numberOf(given);
  // What it takes without the variable is not compared.
  return port === undefined || given === undefined || isFollower(launch)
    ? []
    : [
        {
          worker,
          what: 'bootstrap server',
          setting: name,
          port,
          count: 1,
          isDefault: false,
          span: given.span,
        },
      ];
}

function lmcachePorts(worker: WorkerFacts): readonly HostPort[] {
  return [...LMCACHE_PORTS].flatMap(([name, what]) => {
    const given = variableOf(worker.launch, name);
    if (given?.value === undefined) return [];
    const ports = given.value.match(/\d{2,5}/g) ?? [];
    return ports.slice(0, MAX_RANKS).map(
      (port): HostPort => ({
        worker,
        what,
        setting: name,
        port: Number(port),
        count: 1,
        isDefault: false,
        span: given.span,
      }),
    );
  });
}

/** The data-parallel ranks of an engine on its host; undefined where that is not known. */
function ranksOf(launch: Launch): { readonly first: number; readonly count: number } | undefined {
  if (launch.backend === 'sglang') {
    const isDivided = launch.args.some(({ value }) => value === '--enable-dp-attention');
    const size = flagOf(launch, '--data-parallel-size', '--dp-size', '--dp');
    const count = size === undefined ? 1 : numberOf(size);
    return count === undefined ? undefined : { first: 0, count: isDivided ? Math.min(count, MAX_RANKS) : 1 };
  }
  const rank = flagOf(launch, '--data-parallel-rank', '-dpn', '--data-parallel-start-rank', '-dpr');
  const local = flagOf(launch, '--data-parallel-size-local', '-dpl');
  const size = local ?? flagOf(launch, '--data-parallel-size', '-dp');
  const isAlone = flagOf(launch, '--data-parallel-rank', '-dpn') !== undefined;
  const count = size === undefined || isAlone ? 1 : numberOf(size);
  const first = rank === undefined ? 0 : /^\d{1,3}$/.test(rank.value ?? '') ? Number(rank.value) : undefined;
  return count === undefined || first === undefined
    ? undefined
    : { first, count: Math.min(count, MAX_RANKS) };
}

/** A node of an engine on several nodes that is not the first one. */
function isFollower(launch: Launch): boolean {
  const rank = flagOf(launch, '--node-rank');
  return launch.site?.isFollower === true || (rank !== undefined && rank.value !== '0');
}
