import { EngineKind, EvidenceSource, type KvEventSource } from '../../gen/kvaccord/v1/capabilities.js';
import type { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { dialable, engineHost, vllmPublisherConnects } from '../probing/event-endpoint.js';
import { httpProbe } from '../probing/http-probe.js';
import type { EngineProbe } from '../probing/probe.js';

const PATH = '/kv_event_sources';

/** `/kv_event_sources` of vLLM, Python and Rust frontend: the publisher of each data-parallel rank. */
export const vllmKvEventSources: EngineProbe = httpProbe({
  name: 'vllm-kv-event-sources',
  engineKind: EngineKind.VLLM,
  path: PATH,
  source: EvidenceSource.ENGINE_HTTP,
  read(body, sheet, target) {
    readVllmKvEventSources(body, engineHost(target), sheet);
  },
});

/** Reads `{"<rank>": {endpoint, replay_endpoint, topic, …}}`; `{}` means that no events are published. */
function readVllmKvEventSources(text: string, host: string | undefined, sheet: FactSheet): void {
  const ranks = new JsonReader(parseJsonObject(text, sheet.origin), sheet);
  const sources = ranks.entries().flatMap(([rankText, rank]) => {
    if (!/^\d{1,6}$/.test(rankText)) {
      sheet.warn(
        `${JSON.stringify(rankText.slice(0, 64))} is no data-parallel rank; its event source is left out`,
      );
      return [];
    }
    return vllmEventSource(rank, { rank: Number(rankText), portOffset: 0, host }, sheet) ?? [];
  });
  if (sources.length === 0)
    sheet.warn('no KV events are published; start the engine with --kv-events-config');
  sheet.field('kv_event_sources', sources, text);
}

/**
 * The event source of one rank out of vLLM's publisher configuration, or
 * undefined with a warning when there is none to connect to.
 *
 * Where vLLM's publisher connects instead of binding, the endpoint gets an `@`
 * in front, which in kv-accord's notation says that the subscriber binds.
 */
export function vllmEventSource(
  config: JsonReader,
  place: { readonly rank: number; readonly portOffset: number; readonly host: string | undefined },
  sheet: FactSheet,
): KvEventSource | undefined {
  const publisher = config.text('publisher');
  const bound = config.text('endpoint');
  if (config.flag('enable_kv_cache_events') === false || publisher === 'null' || bound === undefined)
    return undefined;
  const endpoint = dialable(bound, place.host, place.portOffset);
  if (endpoint.type === 'refused') {
    sheet.warn(`the event source of rank ${place.rank} is left out: ${endpoint.reason}`);
    return undefined;
  }
  const replayBound = config.text('replay_endpoint');
  const replay = replayBound === undefined ? undefined : dialable(replayBound, place.host, place.portOffset);
  if (replay?.type === 'refused')
    sheet.warn(`the replay endpoint of rank ${place.rank} is left out: ${replay.reason}`);
  return {
    dataParallelRank: place.rank,
    transport: publisher ?? 'zmq',
    endpoint: vllmPublisherConnects(bound) ? `@${endpoint.endpoint}` : endpoint.endpoint,
    topic: config.text('topic') ?? '',
    ...(replay?.type === 'endpoint' ? { replayEndpoint: replay.endpoint } : {}),
  };
}
