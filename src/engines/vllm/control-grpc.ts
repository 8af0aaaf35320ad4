import {
  ControlService,
  type GetKvEventSourcesResponse,
  type ModelInfo,
  type ServerInfo,
} from '../../gen/engines/vllm/control.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineState,
  EvidenceSource,
  type KvEventSource,
} from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { MAX_LIST_LENGTH } from '../facts/json-reader.js';
import { dialable, engineHost } from '../probing/event-endpoint.js';
import { type EngineProbe, ProbeError } from '../probing/probe.js';
import { grpcOrigin } from '../probing/probe-origin.js';
import { readProtoNumber } from '../probing/proto-number.js';

const origin = grpcOrigin(EngineKind.VLLM, 'vllm.Control');

/**
 * `vllm.Control` of vLLM's Rust frontend, the one place where that frontend
 * reports its block size. The service has no presence for most numbers: 0 is
 * "not set" in them.
 */
export const vllmControlGrpc: EngineProbe = {
  name: 'vllm-control-grpc',
  engineKind: EngineKind.VLLM,
  origin,
  async probe(target, modules, signal) {
    const address = target.grpcAddress ?? '';
    const server = await modules.rpc.call(address, ControlService.getServerInfo, {}, { signal });
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_RPC,
      origin: origin(target) ?? '',
      observedAtMs: modules.clock.wallMs(),
    });
    readServerInfo(server, sheet);
    // The block size stands by itself: what else the service can report is welcome and not needed.
    await readOptional(sheet, async () => {
      readModelInfo(await modules.rpc.call(address, ControlService.getModelInfo, {}, { signal }), sheet);
    });
    await readOptional(sheet, async () => {
      const sources = await modules.rpc.call(address, ControlService.getKvEventSources, {}, { signal });
      readEventSources(sources, engineHost(target), sheet);
    });
    return sheet.answer();
  },
};

/** Reads something that an older engine may not have; a failure becomes a warning. */
export async function readOptional(sheet: FactSheet, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (cause) {
    if (!(cause instanceof ProbeError)) throw cause;
    sheet.warn(cause.message);
  }
}

function readServerInfo(info: ServerInfo, sheet: FactSheet): void {
  sheet.field('engine.kind', EngineKind.VLLM, `api_version: ${JSON.stringify(info.apiVersion)}`);
  sheet.field('engine.state', EngineState.READY, 'GetServerInfo answered');
  sheet.field('engine.version', info.engineVersion || undefined, `engine_version: ${info.engineVersion}`);
  sheet.field('engine.start_marker', info.instanceId || undefined, `instance_id: ${info.instanceId}`);

  const effective = readProtoNumber(
    info.effectiveAttentionBlockSize ?? 0,
    'effective_attention_block_size',
    sheet,
  );
  const scheduler = readProtoNumber(info.kvBlockSize, 'kv_block_size', sheet);
  const contextParallel = info.parallelism?.decodeContextParallelSize ?? 0;
  sheet.size(BlockSizeKind.EFFECTIVE_ATTENTION, effective, {
    forContract: true,
    raw: `effective_attention_block_size: ${effective}`,
  });
  sheet.size(BlockSizeKind.SCHEDULER, scheduler, {
    forContract: effective === undefined && contextParallel <= 1,
    raw: `kv_block_size: ${scheduler}`,
  });
  if (effective === undefined && scheduler !== undefined) {
    sheet.warn(
      contextParallel > 1
        ? `kv_block_size ${scheduler} is not taken for the KV-event width: decode_context_parallel_size is ${contextParallel} and no effective_attention_block_size is reported`
        : `no effective_attention_block_size is reported; kv_block_size ${scheduler} is taken, which is the KV-event width only for a model with one full-attention group`,
    );
  }

  const statedNumber = (value: number | bigint | undefined, name: string): number | undefined =>
    value === undefined ? undefined : readProtoNumber(value, name, sheet);
  for (const [field, name, value] of [
    ['model.max_model_len', 'max_model_len', info.maxModelLen],
    ['capacity.total_kv_blocks', 'total_kv_blocks', info.totalKvBlocks],
    ['capacity.max_running_requests', 'max_running_requests', info.maxRunningRequests],
    ['capacity.max_batched_tokens', 'max_batched_tokens', info.maxBatchedTokens],
    ['parallelism.tensor_parallel_size', 'tensor_parallel_size', info.parallelism?.tensorParallelSize],
    ['parallelism.pipeline_parallel_size', 'pipeline_parallel_size', info.parallelism?.pipelineParallelSize],
    ['parallelism.data_parallel_size', 'data_parallel_size', info.parallelism?.dataParallelSize],
    [
      'parallelism.data_parallel_size_local',
      'data_parallel_size_local',
      info.parallelism?.dataParallelSizeLocal,
    ],
    ['parallelism.decode_context_parallel_size', 'decode_context_parallel_size', contextParallel],
    ['parallelism.world_size', 'world_size', info.parallelism?.worldSize],
  ] as const) {
    sheet.field(field, statedNumber(value, name), `${name}: ${value}`);
  }
  // The first rank is 0, which the wire cannot distinguish from "not set"; a message that is there has set it.
  const rank = info.parallelism?.dataParallelRank;
  sheet.field('parallelism.data_parallel_rank', rank, `data_parallel_rank: ${rank}`);
}

function readModelInfo(info: ModelInfo, sheet: FactSheet): void {
  const names = [info.servedModelName, ...info.servedModelAliases.slice(0, MAX_LIST_LENGTH)].filter(Boolean);
  if (names.length > 0)
    sheet.field('model.served_names', names, `served_model_name: ${JSON.stringify(names)}`);
  sheet.field('model.root', info.modelId || undefined, `model_id: ${JSON.stringify(info.modelId)}`);
}

function readEventSources(
  answer: GetKvEventSourcesResponse,
  host: string | undefined,
  sheet: FactSheet,
): void {
  const sources: KvEventSource[] = [];
  for (const [index, stated] of answer.sources.slice(0, MAX_LIST_LENGTH).entries()) {
    const rank = stated.dataParallelRank ?? index;
    const endpoint = dialable(stated.endpoint, host);
    if (endpoint.type === 'refused') {
      sheet.warn(`the event source of rank ${rank} is left out: ${endpoint.reason}`);
      continue;
    }
    const replay = stated.replayEndpoint === '' ? undefined : dialable(stated.replayEndpoint, host);
    if (replay?.type === 'refused')
      sheet.warn(`the replay endpoint of rank ${rank} is left out: ${replay.reason}`);
    sources.push({
      dataParallelRank: rank,
      transport: stated.transport,
      endpoint: endpoint.endpoint,
      topic: stated.topic,
      ...(replay?.type === 'endpoint' ? { replayEndpoint: replay.endpoint } : {}),
      ...(stated.encoding === '' ? {} : { encoding: stated.encoding }),
      ...(stated.schemaVersion === 0 ? {} : { schemaVersion: stated.schemaVersion }),
    });
  }
  if (sources.length === 0)
    sheet.warn('no KV events are published; start the engine with --kv-events-config');
  sheet.field('kv_event_sources', sources, JSON.stringify(answer.sources));
}
