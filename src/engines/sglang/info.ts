import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EngineState,
  HashUnit,
  type KvEventSource,
} from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { type JsonReader, MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { dialable, sglangPublisherConnects } from '../probing/event-endpoint.js';
import { readSglangTransfer } from './transfer.js';

/**
 * Algorithms under which SGLang keys its radix tree, and so its KV events, by
 * overlapping pairs of tokens (`SpeculativeAlgorithm.is_eagle`; NEXTN is another name for EAGLE).
 */
const BIGRAM_ALGORITHMS: ReadonlySet<string> = new Set(['EAGLE', 'EAGLE3', 'NEXTN']);
/** Algorithms that leave the keys alone. */
const TOKEN_ALGORITHMS: ReadonlySet<string> = new Set(['STANDALONE', 'NGRAM', 'LOOKAHEAD']);

/** What `--disaggregation-mode` takes; "null" is SGLang's own word for none. */
const ROLES: ReadonlyMap<string, EngineRole> = new Map([
  ['null', EngineRole.AGGREGATED],
  ['prefill', EngineRole.PREFILL],
  ['decode', EngineRole.DECODE],
]);

/**
 * Reads what SGLang reports about itself, over HTTP's `/server_info` and over
 * its native gRPC alike.
 *
 * The event width has two independent ways here. SGLang announces one in
 * `kv_events.block_size`; versions before August 2026 announced the bare page
 * there, although with decode context parallelism an event covers
 * `page_size * dcp_size` (sglang#35298). Both are stated as KV-event sizes, so
 * that a version which contradicts itself is a conflict and not a wrong value.
 * The page itself is what the scheduler allocates; it serves only in versions
 * that do not know `dcp_size`, where nothing else can make an event wider.
 */
export function readSglangInfo(info: JsonReader, host: string | undefined, sheet: FactSheet): void {
  sheet.field('engine.kind', EngineKind.SGLANG, info.raw('version'));
  sheet.field('engine.version', info.text('version'), info.raw('version'));
  const status = info.text('status');
  if (status === 'ready') sheet.field('engine.state', EngineState.READY, info.raw('status'));
  else if (status !== undefined) sheet.field('engine.state', EngineState.STARTING, info.raw('status'));
  readStartMarker(info, sheet);

  const schedulers = info.isStated('internal_states') ? (info.children('internal_states') ?? []) : [];
  readSizes(info, schedulers, sheet);
  readRole(info, sheet);
  readHashUnit(info, sheet);
  readShape(info, sheet);
  readCapacity(info, schedulers, sheet);
  readEventSources(info, host, sheet);
  readSglangTransfer(info, host, sheet);
}

/**
 * SGLang has no instance id in its unary answers and no start time in its
 * metrics. The durations of its own start, measured to the nanosecond, are
 * the same until the next start and never the same twice.
 */
function readStartMarker(info: JsonReader, sheet: FactSheet): void {
  const startup = info.child('startup_time');
  const loading = startup?.number('load_weight');
  const scheduler = startup?.number('scheduler_e2e');
  if (loading === undefined || scheduler === undefined) return;
  sheet.field(
    'engine.start_marker',
    `startup_time=${loading}/${scheduler}`,
    startup?.raw('load_weight', 'scheduler_e2e') ?? '',
  );
}

/** The schedulers' own view where it is reported: a start may change the page after the arguments were read. */
function readSizes(info: JsonReader, schedulers: readonly JsonReader[], sheet: FactSheet): void {
  const views = schedulers.some((scheduler) => scheduler.has('page_size')) ? schedulers : [info];
  for (const view of views) {
    const page = view.whole('page_size');
    const factor = view.whole('dcp_size') ?? info.whole('dcp_size');
    sheet.size(BlockSizeKind.SCHEDULER, page, {
      forContract: factor === undefined,
      raw: view.raw('page_size'),
    });
    if (page === undefined || factor === undefined) continue;
    sheet.size(BlockSizeKind.KV_EVENT, page * factor, {
      forContract: true,
      raw: `${view.raw('page_size')} x ${view.has('dcp_size') ? view.raw('dcp_size') : info.raw('dcp_size')}`,
    });
  }
  const announced = info.child('kv_events');
  sheet.size(BlockSizeKind.KV_EVENT, announced?.whole('block_size'), {
    forContract: true,
    raw: announced?.raw('block_size') ?? '',
  });
  for (const source of info.children('kv_event_sources') ?? []) {
    sheet.size(BlockSizeKind.KV_EVENT, source.whole('block_size'), {
      forContract: true,
      raw: source.raw('block_size'),
    });
  }
}

function readRole(info: JsonReader, sheet: FactSheet): void {
  const mode = info.text('disaggregation_mode');
  if (mode === undefined) return;
  const raw = info.raw('disaggregation_mode');
  const role = ROLES.get(mode);
  if (role === undefined) sheet.warn(`${raw}: which part of a request that is, is not known here`);
  sheet.field('engine.role', role, raw);
}

function readHashUnit(info: JsonReader, sheet: FactSheet): void {
  if (!info.isStated('speculative_algorithm')) return;
  const algorithm = info.text('speculative_algorithm');
  const raw = info.raw('speculative_algorithm');
  if (algorithm === undefined || TOKEN_ALGORITHMS.has(algorithm)) {
    sheet.field('contract.hash_unit', HashUnit.TOKEN, raw);
  } else if (BIGRAM_ALGORITHMS.has(algorithm)) {
    sheet.field('contract.hash_unit', HashUnit.BIGRAM, raw);
  } else {
    sheet.warn(`${raw}: whether its KV events are hashed by tokens or by pairs of tokens is not known here`);
  }
}

function readShape(info: JsonReader, sheet: FactSheet): void {
  const served = info.text('served_model_name');
  if (served !== undefined) sheet.field('model.served_names', [served], info.raw('served_model_name'));
  sheet.field('model.root', info.text('model_path'), info.raw('model_path'));
  sheet.field('model.revision', info.text('revision'), info.raw('revision'));
  sheet.field('model.max_model_len', info.whole('context_length'), info.raw('context_length'));
  for (const [field, name] of [
    ['parallelism.tensor_parallel_size', 'tp_size'],
    ['parallelism.pipeline_parallel_size', 'pp_size'],
    ['parallelism.data_parallel_size', 'dp_size'],
    ['parallelism.decode_context_parallel_size', 'dcp_size'],
    ['parallelism.expert_parallel_size', 'ep_size'],
  ] as const) {
    sheet.field(field, info.whole(name), info.raw(name));
  }
}

/** The sum over all schedulers, when every one of them reports one; undefined otherwise. */
function sumOf(parts: readonly (number | undefined)[]): number | undefined {
  if (parts.length === 0) return undefined;
  const sum = parts.reduce(
    (total, part) => (total === undefined || part === undefined ? undefined : total + part),
    0,
  );
  return sum !== undefined && Number.isSafeInteger(sum) ? sum : undefined;
}

function readCapacity(info: JsonReader, schedulers: readonly JsonReader[], sheet: FactSheet): void {
  const cacheless = 'disable_radix_cache';
  if (info.flag(cacheless) === true) {
    sheet.field('capacity.prefix_caching', false, info.raw(cacheless));
    sheet.warn(`${info.raw(cacheless)}: this engine keeps no prefix cache and sends no KV events`);
  }
  const memories = schedulers.map((scheduler) => scheduler.child('memory_usage'));
  const capacity = sumOf(memories.map((memory) => memory?.whole('token_capacity')));
  if (capacity !== undefined) {
    const raw = memories.map((memory) => memory?.raw('token_capacity')).join(' + ');
    sheet.field('capacity.kv_cache_size_tokens', capacity, raw);
  } else if (info.whole('dp_size') === 1) {
    // max_total_tokens, of nearly the same name, is only what was asked for.
    const name = 'max_total_num_tokens';
    sheet.field('capacity.kv_cache_size_tokens', info.whole(name), info.raw(name));
  }
  const perRank = 'effective_max_running_requests_per_dp';
  const running = sumOf(schedulers.map((scheduler) => scheduler.whole(perRank)));
  if (running !== undefined) {
    const raw = schedulers.map((scheduler) => scheduler.raw(perRank)).join(' + ');
    sheet.field('capacity.max_running_requests', running, raw);
  } else {
    sheet.field(
      'capacity.max_running_requests',
      info.whole('max_running_requests'),
      info.raw('max_running_requests'),
    );
  }
  sheet.field(
    'capacity.max_batched_tokens',
    info.whole('max_prefill_tokens'),
    info.raw('max_prefill_tokens'),
  );
  const hierarchical = info.flag('enable_hierarchical_cache');
  if (hierarchical === undefined) return;
  const storage = hierarchical && info.has('hicache_storage_backend') ? ['external'] : [];
  const tiers = ['device', ...(hierarchical ? ['host'] : []), ...storage];
  sheet.field('capacity.kv_tiers', tiers, info.raw('enable_hierarchical_cache', 'hicache_storage_backend'));
}

function readEventSources(info: JsonReader, host: string | undefined, sheet: FactSheet): void {
  // The listed endpoints have their host filled in; only this one is as it was configured.
  const bound = info.child('kv_events')?.text('endpoint_host');
  const connects = bound !== undefined && sglangPublisherConnects(bound);
  const listed = info.children('kv_event_sources');
  if (listed !== undefined) {
    const sources = listed.flatMap((source) => {
      const rank = source.whole('dp_rank');
      const endpoint = source.text('endpoint');
      if (rank === undefined || endpoint === undefined) return [];
      return eventSource(
        { rank, endpoint, replay: source.text('replay_endpoint'), topic: source.text('topic'), connects },
        host,
        sheet,
      );
    });
    sheet.field(
      'kv_event_sources',
      sources,
      listed.map((source) => source.raw('dp_rank', 'endpoint', 'topic')).join('; '),
    );
    return;
  }
  if (!info.isStated('kv_events')) return;
  const announced = info.child('kv_events');
  if (announced === undefined) {
    sheet.warn('no KV events are published; start the engine with --kv-events-config');
    sheet.field('kv_event_sources', [], info.raw('kv_events'));
    return;
  }
  readAnnouncedEvents(info, announced, host, sheet);
}

/** Each data-parallel rank binds the base port plus its number. */
function readAnnouncedEvents(
  info: JsonReader,
  announced: JsonReader,
  host: string | undefined,
  sheet: FactSheet,
): void {
  const base = announced.whole('endpoint_port_base');
  const bound = announced.text('endpoint_host');
  const ranks = announced.whole('dp_size');
  if (base === undefined || bound === undefined || ranks === undefined) return;
  if (ranks > 1 && (info.whole('nnodes') ?? 1) > 1) {
    sheet.warn(
      'the ranks of kv_events are spread over several nodes, and SGLang does not say which rank is on which node',
    );
    return;
  }
  const replayBase = announced.whole('replay_endpoint_port_base');
  const sources: KvEventSource[] = [];
  for (let rank = 0; rank < Math.min(ranks, MAX_LIST_LENGTH); rank += 1) {
    const endpoint = `tcp://${bound}:${base + rank}`;
    const replay = replayBase === undefined ? undefined : `tcp://${bound}:${replayBase + rank}`;
    const announcedSource = {
      rank,
      endpoint,
      replay,
      topic: announced.text('topic'),
      connects: sglangPublisherConnects(bound),
    };
    sources.push(...eventSource(announcedSource, host, sheet));
  }
  sheet.field('kv_event_sources', sources, info.raw('kv_events'));
}

function eventSource(
  source: {
    readonly rank: number;
    readonly endpoint: string;
    readonly replay: string | undefined;
    readonly topic: string | undefined;
    /** Its publisher connects, and the reader has to bind. The replay socket is always bound by the engine. */
    readonly connects: boolean;
  },
  host: string | undefined,
  sheet: FactSheet,
): KvEventSource[] {
  const endpoint = dialable(source.endpoint, host);
  const replay = source.replay === undefined ? undefined : dialable(source.replay, host);
  if (replay?.type === 'refused')
    sheet.warn(`the replay endpoint of rank ${source.rank} is left out: ${replay.reason}`);
  if (endpoint.type === 'refused') {
    sheet.warn(`the event source of rank ${source.rank} is left out: ${endpoint.reason}`);
    return [];
  }
  return [
    {
      dataParallelRank: source.rank,
      transport: 'zmq',
      endpoint: source.connects ? `@${endpoint.endpoint}` : endpoint.endpoint,
      topic: source.topic ?? '',
      ...(replay?.type === 'endpoint' ? { replayEndpoint: replay.endpoint } : {}),
    },
  ];
}
