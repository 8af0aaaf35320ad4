import type { JsonObject } from '../../edge/platform/data/json-object.js';
import {
  BlockSizeKind,
  EngineKind,
  EvidenceSource,
  type KvEventSource,
} from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader, MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { dialable, engineHost } from '../probing/event-endpoint.js';
import { MAX_YAML_BYTES, parseYamlObject } from '../probing/parse-yaml.js';
import type { EngineProbe } from '../probing/probe.js';
import { concerns } from '../probing/probe-origin.js';
import { readSourceFile } from '../probing/read-source-file.js';

/**
 * The YAML that TensorRT-LLM was started with (`--config`, formerly
 * `--extra_llm_api_options`). What it asks for need not be what runs, and a
 * field that it leaves out has a default of the engine's version: neither is
 * ever filled in here.
 */
export const trtllmConfig: EngineProbe = {
  name: 'trtllm-config',
  engineKind: EngineKind.TENSORRT_LLM,
  origin: (target) =>
    target.configFile === undefined || !concerns(target, EngineKind.TENSORRT_LLM)
      ? undefined
      : `file ${target.configFile}`,
  async probe(target, modules) {
    const path = target.configFile ?? '';
    const origin = `file ${path}`;
    const text = await readSourceFile(path, MAX_YAML_BYTES, origin, modules);
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_CONFIG,
      origin,
      observedAtMs: modules.clock.wallMs(),
    });
    readTrtllmConfig(await parseYamlObject(text, origin), engineHost(target), sheet);
    return sheet.answer();
  },
};

function readTrtllmConfig(object: JsonObject, host: string | undefined, sheet: FactSheet): void {
  const config = new JsonReader(object, sheet);
  const cache = config.child('kv_cache_config');
  const size = cache?.whole('tokens_per_block');
  sheet.size(BlockSizeKind.REQUESTED, size, {
    forContract: true,
    raw: cache?.raw('tokens_per_block') ?? '',
  });
  if (size === undefined)
    sheet.warn("has no kv_cache_config.tokens_per_block; the engine's default is not assumed");
  if (cache?.flag('enable_block_reuse') === false) {
    sheet.field('capacity.prefix_caching', false, cache.raw('enable_block_reuse'));
    sheet.warn('kv_cache_config.enable_block_reuse is false: this engine keeps no prefix cache');
  }
  for (const [field, name] of [
    ['parallelism.tensor_parallel_size', 'tensor_parallel_size'],
    ['parallelism.pipeline_parallel_size', 'pipeline_parallel_size'],
    ['parallelism.expert_parallel_size', 'moe_expert_parallel_size'],
    ['capacity.max_running_requests', 'max_batch_size'],
    ['capacity.max_batched_tokens', 'max_num_tokens'],
    ['model.max_model_len', 'max_seq_len'],
  ] as const) {
    sheet.field(field, config.whole(name), config.raw(name));
  }
  const events = cache?.child('kv_events_config');
  if (events !== undefined) readEvents(events, config, host, sheet);
}

/** With attention data parallelism each tensor-parallel rank has a cache and a publisher of its own. */
function readEvents(
  events: JsonReader,
  config: JsonReader,
  host: string | undefined,
  sheet: FactSheet,
): void {
  const bound = events.text('endpoint');
  if (
    events.flag('enable_kv_cache_events') !== true ||
    events.text('publisher') === 'null' ||
    bound === undefined
  )
    return;
  const ranks = config.flag('enable_attention_dp') === true ? (config.whole('tensor_parallel_size') ?? 1) : 1;
  const replayBound = events.text('replay_endpoint');
  const sources: KvEventSource[] = [];
  for (let rank = 0; rank < Math.min(ranks, MAX_LIST_LENGTH); rank += 1) {
    const endpoint = dialable(bound, host, rank);
    if (endpoint.type === 'refused') {
      sheet.warn(`the event source of rank ${rank} is left out: ${endpoint.reason}`);
      continue;
    }
    const replay = replayBound === undefined ? undefined : dialable(replayBound, host, rank);
    sources.push({
      dataParallelRank: rank,
      transport: events.text('publisher') ?? 'zmq',
      endpoint: endpoint.endpoint,
      topic: events.text('topic') ?? '',
      ...(replay?.type === 'endpoint' ? { replayEndpoint: replay.endpoint } : {}),
    });
  }
  if (sources.length > 0)
    sheet.field('kv_event_sources', sources, events.raw('publisher', 'endpoint', 'topic'));
}
