import { BlockSizeKind, EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { askedUrl } from '../../platform/http-get.js';
import { ask, parseJsonObject } from './ask.js';
import { FactSheet } from './fact-sheet.js';
import { requireKind } from './identify-engine.js';
import { JsonReader } from './json-reader.js';
import type { EngineProbe } from './probe.js';
import { httpOrigin } from './probe-origin.js';

const PATH = '/server_info';

/**
 * `/server_info` of TensorRT-LLM. Its `tokens_per_block` is the configured
 * value: the worker process may run another (FlashMLA forces 64) and does not
 * send it back (TensorRT-LLM#19427), so it counts as configuration.
 */
export const trtllmServerInfo: EngineProbe = {
  name: 'trtllm-server-info',
  engineKind: EngineKind.ENGINE_KIND_TENSORRT_LLM,
  origin: httpOrigin(EngineKind.ENGINE_KIND_TENSORRT_LLM, PATH),
  async probe(target, modules, signal) {
    const url = `${target.httpBaseUrl}${PATH}`;
    await requireKind([EngineKind.ENGINE_KIND_TENSORRT_LLM], target, modules, signal, askedUrl(url));
    const answer = await ask(url, modules, signal);
    const sheet = new FactSheet({
      source: EvidenceSource.EVIDENCE_SOURCE_ENGINE_CONFIG,
      origin: askedUrl(url),
      observedAtMs: modules.clock.wallMs(),
    });
    const info = new JsonReader(parseJsonObject(answer.body, sheet.origin), sheet);
    const size = info.whole('tokens_per_block');
    sheet.size(BlockSizeKind.BLOCK_SIZE_KIND_REQUESTED, size, {
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
    return sheet.answer();
  },
};
