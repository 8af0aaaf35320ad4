import type { RankSource, ZmqSource } from '../../../core/relay/rank-source.js';
import { onOneLine } from '../../../core/text/printable.js';
import { ENGINES, engineOfKind } from '../../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../../engines/descriptor/engine-descriptor.js';
import type { CapabilityReport, KvEventSource } from '../../../gen/kvaccord/v1/capabilities.js';
import { engineHttpUrl } from '../probing/engine-address.js';
import { isEventEndpoint } from './event-endpoint.js';

/** Where a sidecar is to read KV events. */
export type EventSettings =
  /** Where the engine says that it publishes them. */
  | {
      readonly from: 'engine';
      /** Whether a TensorRT-LLM that publishes nothing may be read by its draining endpoint. Default false. */
      readonly drainsTrtllm?: boolean;
    }
  /** Where the operator says, whatever the engine says. */
  | { readonly from: 'operator'; readonly sources: readonly ZmqSource[] };

/** What is to be read of a ready engine. */
export type EventPlan =
  | { readonly type: 'read'; readonly sources: readonly RankSource[] }
  /** Nothing; why, in words for an operator. */
  | { readonly type: 'nothing'; readonly reason: string }
  /** The engine did not say this time; what was known before still stands. */
  | { readonly type: 'unsaid'; readonly reason: string };

/** What an operator does about an engine of an unknown kind that names no source. */
const HOW_TO_PUBLISH = 'start it with --kv-events-config, or name the sources with --kv-event-sources';

/** Longest address of a source that a reason names. */
const MAX_NAMED_CHARS = 200;

/** Decides what is to be read of the engine that `report` describes. */
export function planEvents(settings: EventSettings, report: CapabilityReport): EventPlan {
  const engine = engineOfKind(report.engine?.kind);
  // SGLang names a publisher all the same, which stays silent: its cache would seem to be known, and empty.
  if (report.capacity?.prefixCaching === false) return { type: 'nothing', reason: cachelessMessage(engine) };
  if (settings.from === 'operator') return { type: 'read', sources: settings.sources };
  const readable = sourcesOf(report.kvEventSources);
  if (readable.length > 0) return { type: 'read', sources: readable };
  const { drainPath, howToPublish = HOW_TO_PUBLISH } = engine?.kvEvents ?? {};
  if (drainPath !== undefined && settings.drainsTrtllm === true) return planDrain(drainPath, report);
  const [unreadable] = report.kvEventSources;
  if (unreadable !== undefined) {
    const { transport, endpoint } = unreadable;
    const named = onOneLine(`${transport} ${endpoint}`, MAX_NAMED_CHARS);
    return {
      type: 'nothing',
      reason: `the engine publishes its KV events on ${named}, which cannot be read`,
    };
  }
  const reason = `the engine names no source of KV events; ${howToPublish}`;
  const wasSaid = report.evidence.some(({ field }) => field === 'kv_event_sources');
  return { type: wasSaid ? 'nothing' : 'unsaid', reason };
}

/** Says that the engine has no prefix cache, and which setting switched it off; all of them where the kind is not known. */
function cachelessMessage(engine: EngineDescriptor | undefined): string {
  const own = engine?.kvEvents.cacheOffSetting;
  const settings =
    own ??
    ENGINES.flatMap(({ displayName, kvEvents: { cacheOffSetting: setting } }) =>
      setting === undefined ? [] : [`${setting} (${displayName})`],
    ).join(' or ');
  return `the engine was started without a prefix cache: it computes every prompt again, and publishes nothing to route by; start it without ${settings}`;
}

/** The sources that can be read; of several for one rank the first. */
function sourcesOf(stated: readonly KvEventSource[]): RankSource[] {
  const byRank = new Map<number, RankSource>();
  for (const { dataParallelRank: rank, transport, endpoint, topic, replayEndpoint } of stated) {
    if (byRank.has(rank) || (transport !== 'zmq' && transport !== '') || !isEventEndpoint(endpoint)) continue;
    byRank.set(rank, {
      kind: 'zmq',
      rank,
      endpoint,
      topic,
      ...(replayEndpoint !== undefined && isEventEndpoint(replayEndpoint) ? { replayEndpoint } : {}),
    });
  }
  return [...byRank.values()].sort((a, b) => a.rank - b.rank);
}

function planDrain(drainPath: string, report: CapabilityReport): EventPlan {
  const httpUrl = engineHttpUrl(report);
  if (httpUrl === undefined) {
    return {
      type: 'unsaid',
      reason: 'the KV events are read over HTTP, and the HTTP address of the engine is not known',
    };
  }
  const url = `${httpUrl}${drainPath}`;
  const { tokensPerBlock } = report.contract ?? {};
  const size = tokensPerBlock === undefined ? {} : { tokensPerBlock };
  return { type: 'read', sources: [{ kind: 'trtllm-drain', rank: 0, url, ...size }] };
}
