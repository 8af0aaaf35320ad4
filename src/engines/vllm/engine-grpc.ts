import {
  type GetModelInfoResponse,
  type GetServerInfoResponse,
  VllmEngineService,
} from '../../gen/engines/vllm/vllm_engine.js';
import {
  BlockSizeKind,
  EngineKind,
  EngineState,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import type { EngineProbe } from '../probing/probe.js';
import { grpcOrigin } from '../probing/probe-origin.js';
import { readProtoNumber } from '../probing/proto-number.js';
import { readOptional } from './control-grpc.js';
import { vllmRole } from './role.js';
import { stateVllmConnector } from './transfer.js';

const origin = grpcOrigin(EngineKind.VLLM, 'vllm.grpc.engine.VllmEngine');

/** `vllm.grpc.engine.VllmEngine` of `vllm serve --grpc`, which stands in place of HTTP. */
export const vllmEngineGrpc: EngineProbe = {
  name: 'vllm-engine-grpc',
  engineKind: EngineKind.VLLM,
  origin,
  async probe(target, modules, signal) {
    const address = target.grpcAddress ?? '';
    const server = await modules.rpc.call(address, VllmEngineService.getServerInfo, {}, { signal });
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_RPC,
      origin: origin(target) ?? '',
      observedAtMs: modules.clock.wallMs(),
    });
    sheet.field(
      'engine.serving_addresses',
      [{ protocol: ServingAddress_Protocol.ENGINE_GRPC, address }],
      address,
    );
    readServerInfo(server, sheet);
    await readOptional(sheet, async () => {
      readModelInfo(await modules.rpc.call(address, VllmEngineService.getModelInfo, {}, { signal }), sheet);
    });
    return sheet.answer();
  },
};

function readServerInfo(info: GetServerInfoResponse, sheet: FactSheet): void {
  sheet.field('engine.kind', EngineKind.VLLM, 'vllm.grpc.engine.VllmEngine answered');
  sheet.field('engine.state', EngineState.READY, 'GetServerInfo answered');
  // It is the scheduler's unit, and the only size that this server has.
  const size = readProtoNumber(info.blockSize, 'block_size', sheet);
  sheet.size(BlockSizeKind.SCHEDULER, size, {
    forContract: true,
    raw: `block_size: ${size}`,
  });
  if (size === undefined)
    sheet.warn('no block_size is reported; servers of vllm.grpc.engine before 2026 have none');
  sheet.field('engine.role', vllmRole(info.kvRole), `kv_role: ${JSON.stringify(info.kvRole)}`);
  const exchanges = stateVllmConnector(
    { word: info.kvConnector || undefined, raw: `kv_connector: ${JSON.stringify(info.kvConnector)}` },
    { word: info.kvRole, raw: `kv_role: ${JSON.stringify(info.kvRole)}` },
    sheet,
  );
  const dtype = info.kvCacheDtype || undefined;
  if (exchanges) sheet.field('transfer.kv_cache_dtype', dtype, `kv_cache_dtype: ${JSON.stringify(dtype)}`);
  const ranks = readProtoNumber(info.dataParallelSize, 'data_parallel_size', sheet);
  sheet.field('parallelism.data_parallel_size', ranks, `data_parallel_size: ${ranks}`);
  const requests = readProtoNumber(info.maxNumSeqs, 'max_num_seqs', sheet);
  sheet.field('capacity.max_running_requests', requests, `max_num_seqs: ${requests}`);
}

function readModelInfo(info: GetModelInfoResponse, sheet: FactSheet): void {
  const name = info.servedModelName;
  if (name !== '') sheet.field('model.served_names', [name], `served_model_name: ${JSON.stringify(name)}`);
  sheet.field('model.root', info.modelPath || undefined, `model_path: ${JSON.stringify(info.modelPath)}`);
  const length = readProtoNumber(info.maxContextLength, 'max_context_length', sheet);
  sheet.field('model.max_model_len', length, `max_context_length: ${length}`);
}
