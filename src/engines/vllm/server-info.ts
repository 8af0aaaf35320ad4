import {
  BlockSizeKind,
  EngineKind,
  EngineRole,
  EvidenceSource,
  HashUnit,
  type KvEventSource,
} from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader, MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { engineHost } from '../probing/event-endpoint.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';
import { vllmEventSource } from './kv-event-sources.js';
import { vllmRole } from './role.js';
import { readVllmTransfer } from './transfer.js';

/** Without `config_format=json` the configuration is Python's `repr` in one string. */
const PATH = '/server_info?config_format=json';

/**
 * `/server_info` of vLLM, which only exists in development mode
 * (`VLLM_SERVER_DEV_MODE=1`) and is never needed. Its first answer takes about
 * two seconds, in which vLLM looks over the system; it keeps that for later ones.
 *
 * It shows the API server's copy of the configuration. What the engine core
 * changed afterwards and did not send back is stale in it, so everything here
 * counts as configuration and any live source outranks it. `block_size` may
 * even be a default that the engine does not run with: it is reported, and
 * never taken for the width of an event.
 */
export const vllmServerInfo: EngineProbe = httpProbe({
  name: 'vllm-server-info',
  engineKind: EngineKind.VLLM,
  path: PATH,
  source: EvidenceSource.ENGINE_CONFIG,
  read(body, sheet, target) {
    readVllmServerInfo(body, engineHost(target), sheet);
  },
});

/** Reads the body of `/server_info?config_format=json`. Throws a `ProbeError` when it is no JSON object. */
function readVllmServerInfo(text: string, host: string | undefined, sheet: FactSheet): void {
  const body = new JsonReader(parseJsonObject(text, sheet.origin), sheet);
  const config = body.child('vllm_config');
  const model = config?.child('model_config');
  sheet.field('model.revision', model?.text('revision'), model?.raw('revision') ?? '');
  sheet.field('model.max_model_len', model?.whole('max_model_len'), model?.raw('max_model_len') ?? '');

  const cache = config?.child('cache_config');
  if (cache !== undefined) {
    const size = (kind: BlockSizeKind, name: string, forContract: boolean): void =>
      sheet.size(kind, cache.whole(name), { forContract, raw: cache.raw(name) });
    // Only the engine core can compute it, so where it is there it came from the engine.
    size(BlockSizeKind.EFFECTIVE_ATTENTION, 'effective_attention_block_size', true);
    size(BlockSizeKind.SCHEDULER, 'block_size', false);
    size(BlockSizeKind.PREFIX_MATCH_UNIT, 'prefix_match_unit', false);
    size(BlockSizeKind.HASH, 'hash_block_size', false);
    const algorithm = 'prefix_caching_hash_algo';
    sheet.field('contract.hash_algorithm', cache.text(algorithm), cache.raw(algorithm));
  }

  const parallel = config?.child('parallel_config');
  if (parallel !== undefined) {
    for (const name of [
      'tensor_parallel_size',
      'pipeline_parallel_size',
      'data_parallel_size',
      'data_parallel_size_local',
      'data_parallel_rank',
      'decode_context_parallel_size',
      'world_size',
    ] as const) {
      sheet.field(`parallelism.${name}`, parallel.whole(name), parallel.raw(name));
    }
  }
  const scheduler = config?.child('scheduler_config');
  if (scheduler !== undefined) {
    sheet.field(
      'capacity.max_running_requests',
      scheduler.whole('max_num_seqs'),
      scheduler.raw('max_num_seqs'),
    );
    const batched = 'max_num_batched_tokens';
    sheet.field('capacity.max_batched_tokens', scheduler.whole(batched), scheduler.raw(batched));
  }
  if (config !== undefined) readRole(body, config, sheet);
  if (config !== undefined) readSpeculation(config, sheet);
  const events = config?.child('kv_events_config');
  if (events !== undefined) readEvents(events, parallel, host, sheet);
}

/** Methods whose draft model reads the token behind the one that it guesses for (vLLM, `config/speculative.py`, `needs_eagle_block_drop`). */
const READ_AHEAD: ReadonlySet<string> = new Set(['eagle', 'eagle3', 'mtp']);
/** Up to 0.32 the last block of a hit was computed again with these as well (`use_eagle`). */
const DROPPING_UP_TO_0_32: ReadonlySet<string> = new Set([...READ_AHEAD, 'dflash', 'dspark']);
/** A setting that came with 0.33. */
const LOOKAHEAD_OFF = 'disable_lookahead_block_hashes';

function readSpeculation(config: JsonReader, sheet: FactSheet): void {
  const name = 'speculative_config';
  const speculation = config.child(name);
  const method = speculation?.text('method');
  if (speculation !== undefined && method !== undefined) {
    const hasLookahead = speculation.isStated(LOOKAHEAD_OFF);
    const isOff = speculation.flag('disable_eagle_block_drop') === true;
    const wantsDrop = (hasLookahead ? READ_AHEAD : DROPPING_UP_TO_0_32).has(method) && !isOff;
    const looksAhead = wantsDrop && hasLookahead && hashesLookahead(config, speculation);
    const raw = speculation.raw(
      'method',
      'disable_eagle_block_drop',
      ...(hasLookahead ? [LOOKAHEAD_OFF] : []),
    );
    sheet.field('contract.drops_last_hit_block', wantsDrop && !looksAhead, raw);
    // MTP of several modules looks farther than one token, as only its events say.
    if (looksAhead && method !== 'mtp') sheet.field('contract.hash_unit', HashUnit.BIGRAM, raw);
  } else if (speculation === undefined && config.isStated(name) && !config.has(name)) {
    sheet.field('contract.drops_last_hit_block', false, config.raw(name));
  }
}

/** Whether a block's hash covers the tokens behind it that a draft model reads (`config/vllm.py`, `num_hash_lookahead_tokens`). */
function hashesLookahead(config: JsonReader, speculation: JsonReader): boolean {
  return (
    speculation.flag(LOOKAHEAD_OFF) === false &&
    config.child('cache_config')?.flag('enable_prefix_caching') === true &&
    !config.has('kv_transfer_config')
  );
}

/** Without a transfer of KV blocks the engine is alone with its requests. */
function readRole(body: JsonReader, config: JsonReader, sheet: FactSheet): void {
  const transfer = config.child('kv_transfer_config');
  if (transfer !== undefined) {
    const role = { word: transfer.text('kv_role'), raw: transfer.raw('kv_role') };
    sheet.field('engine.role', vllmRole(role.word), role.raw);
    readVllmTransfer({ body, config, transfer, role }, sheet);
  } else if (config.isStated('kv_transfer_config') && !config.has('kv_transfer_config')) {
    sheet.field('engine.role', EngineRole.AGGREGATED, config.raw('kv_transfer_config'));
  }
}

/** The configured base endpoint, of which each local rank binds the port plus its number. */
function readEvents(
  events: JsonReader,
  parallel: JsonReader | undefined,
  host: string | undefined,
  sheet: FactSheet,
): void {
  const first = parallel?.whole('data_parallel_rank') ?? 0;
  const count = Math.min(parallel?.whole('data_parallel_size_local') ?? 1, MAX_LIST_LENGTH);
  const sources: KvEventSource[] = [];
  for (let index = 0; index < count; index += 1) {
    const rank = first + index;
    const source = vllmEventSource(events, { rank, portOffset: rank, host }, sheet);
    if (source !== undefined) sources.push(source);
  }
  if (sources.length > 0)
    sheet.field('kv_event_sources', sources, events.raw('publisher', 'endpoint', 'topic'));
}
