import { askedUrl } from '../../edge/platform/net/http-get.js';
import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { parseJsonObject } from '../facts/json-object.js';
import { JsonReader } from '../facts/json-reader.js';
import { ask } from './ask.js';
import { requireKind } from './identify-engine.js';
import type { EngineProbe } from './probe.js';
import { httpOrigin } from './probe-origin.js';

const PATH = '/version';

/** `/version` of vLLM, Python and Rust frontend. */
export const vllmVersion: EngineProbe = versionProbe('vllm-version', EngineKind.VLLM);

/** `/version` of TensorRT-LLM. SGLang has no such route. */
export const trtllmVersion: EngineProbe = versionProbe('trtllm-version', EngineKind.TENSORRT_LLM);

/** Engines that have the route answer `{"version": …}`; which of them it is, the answer does not say. */
function versionProbe(name: string, kind: EngineKind): EngineProbe {
  return {
    name,
    engineKind: kind,
    origin: httpOrigin(kind, PATH),
    async probe(target, modules, signal) {
      const url = `${target.httpBaseUrl}${PATH}`;
      await requireKind([kind], target, modules, signal, askedUrl(url));
      const answer = await ask(url, modules, signal);
      const sheet = new FactSheet({
        source: EvidenceSource.ENGINE_HTTP,
        origin: askedUrl(url),
        observedAtMs: modules.clock.wallMs(),
      });
      const reader = new JsonReader(parseJsonObject(answer.body, sheet.origin), sheet);
      sheet.field('engine.version', reader.text('version'), reader.raw('version'));
      return sheet.answer();
    },
  };
}
