import { type EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { httpProbe } from './http-probe.js';
import type { EngineProbe } from './probe.js';

/** `/version` of engines that answer `{"version": …}`; which of them it is, the answer does not say. SGLang has no such route. */
export function versionProbe(name: string, engineKind: EngineKind): EngineProbe {
  return httpProbe({
    name,
    engineKind,
    path: '/version',
    source: EvidenceSource.ENGINE_HTTP,
    read(body, sheet) {
      const reader = new JsonReader(parseJsonObject(body, sheet.origin), sheet);
      sheet.field('engine.version', reader.text('version'), reader.raw('version'));
    },
  });
}
