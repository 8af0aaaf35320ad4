import { BlockSizeKind, EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';

const PATH = '/server_info';

/**
 * `/server_info` of TensorRT-LLM. Its `tokens_per_block` is the configured
 * value: the worker process may run another (FlashMLA forces 64) and does not
 * send it back (TensorRT-LLM#19427), so it counts as configuration.
 */
export const trtllmServerInfo: EngineProbe = httpProbe({
  name: 'trtllm-server-info',
  engineKind: EngineKind.TENSORRT_LLM,
  path: PATH,
  source: EvidenceSource.ENGINE_CONFIG,
  read(body, sheet) {
    const info = new JsonReader(parseJsonObject(body, sheet.origin), sheet);
    const size = info.whole('tokens_per_block');
    sheet.size(BlockSizeKind.REQUESTED, size, {
      forContract: true,
      raw: info.raw('tokens_per_block'),
    });
    if (size !== undefined) {
      sheet.warn(
        `tokens_per_block ${size} is the configured value, and the engine may run another; ` +
          'return_perf_metrics and enable_iter_perf_stats make it tell the running one',
      );
    }
    sheet.field('contract.hash_algorithm', info.text('kv_cache_hash_algo'), info.raw('kv_cache_hash_algo'));
    sheet.field('capacity.max_running_requests', info.whole('max_batch_size'), info.raw('max_batch_size'));
  },
});
