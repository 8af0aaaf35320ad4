import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { askedUrl } from '../../platform/http-get.js';
import { ask, parseJsonObject } from './ask.js';
import { FactSheet } from './fact-sheet.js';
import { requireKind } from './identify-engine.js';
import { JsonReader } from './json-reader.js';
import type { EngineProbe } from './probe.js';
import { httpOrigin } from './probe-origin.js';

/** `/version` of TensorRT-LLM. */
export const trtllmVersion: EngineProbe = {
  name: 'trtllm-version',
  engineKind: EngineKind.ENGINE_KIND_TENSORRT_LLM,
  origin: httpOrigin(EngineKind.ENGINE_KIND_TENSORRT_LLM, '/version'),
  async probe(target, modules, signal) {
    const url = `${target.httpBaseUrl}/version`;
    await requireKind([EngineKind.ENGINE_KIND_TENSORRT_LLM], target, modules, signal, askedUrl(url));
    const answer = await ask(url, modules, signal);
    const sheet = new FactSheet({
      source: EvidenceSource.EVIDENCE_SOURCE_ENGINE_HTTP,
      origin: askedUrl(url),
      observedAtMs: modules.clock.wallMs(),
    });
    const reader = new JsonReader(parseJsonObject(answer.body, sheet.origin), sheet);
    sheet.field('engine.version', reader.text('version'), reader.raw('version'));
    return sheet.answer();
  },
};
