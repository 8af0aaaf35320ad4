import { SglangServiceService } from '../../gen/engines/sglang/sglang.js';
import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { engineHost } from '../probing/event-endpoint.js';
import type { EngineProbe } from '../probing/probe.js';
import { grpcOrigin } from '../probing/probe-origin.js';
import { readSglangInfo } from './info.js';

const origin = grpcOrigin(EngineKind.SGLANG, 'sglang.runtime.v1.SglangService');

/**
 * `sglang.runtime.v1.SglangService`, SGLang's native gRPC (`--grpc-port`):
 * `GetServerInfo` carries the same JSON as HTTP's `/server_info`, without the
 * schedulers' states and with the event sources by rank.
 */
export const sglangGrpc: EngineProbe = {
  name: 'sglang-grpc',
  engineKind: EngineKind.SGLANG,
  origin,
  async probe(target, modules, signal) {
    const address = target.grpcAddress ?? '';
    const info = await modules.rpc.call(address, SglangServiceService.getServerInfo, {}, { signal });
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_RPC,
      origin: origin(target) ?? '',
      observedAtMs: modules.clock.wallMs(),
    });
    readSglangInfo(
      new JsonReader(parseJsonObject(info.jsonInfo, sheet.origin), sheet),
      engineHost(target),
      sheet,
    );
    return sheet.answer();
  },
};
