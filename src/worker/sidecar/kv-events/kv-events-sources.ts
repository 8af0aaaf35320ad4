import { onOneLine } from '../../../core/text/printable.js';
import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { EngineKind, type KvEventSource } from '../../../gen/kvaccord/v1/capabilities.js';
import type { RankSource, ZmqSource } from '../../kv-events/rank-source.js';
import { engineHttpUrl } from '../probing/engine-address.js';
import { isEventEndpoint } from './event-endpoint.js';

/** Where a sidecar is to read KV events. */
export type EventSettings =
  /** Where the engine says that it tells them. */
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

/** Path of TensorRT-LLM's endpoint that loses what is read from it. */
const TRTLLM_DRAIN_PATH = '/kv_cache_events';

/** SGLang announces a publisher all the same, which stays silent: what it holds would seem to be known, and empty. */
const CACHELESS =
  'the engine was started without a prefix cache: it computes every prompt anew, and publishes nothing to route by; ' +
  'start it without --disable-radix-cache (SGLang), --no-enable-prefix-caching (vLLM) or enable_block_reuse: false (TensorRT-LLM)';

/** Longest address of a source that a reason names. */
const MAX_NAMED_CHARS = 200;

/** Says what is to be read of the engine that `report` tells of. */
export function planEvents(settings: EventSettings, report: CapabilityReport): EventPlan {
  if (report.capacity?.prefixCaching === false) return { type: 'nothing', reason: CACHELESS };
  if (settings.from === 'operator') return { type: 'read', sources: settings.sources };
  const readable = sourcesOf(report.kvEventSources);
  if (readable.length > 0) return { type: 'read', sources: readable };
  const isTrtllm = report.engine?.kind === EngineKind.TENSORRT_LLM;
  if (isTrtllm && settings.drainsTrtllm === true) return planDrain(report);
  const [unreadable] = report.kvEventSources;
  if (unreadable !== undefined) {
    const { transport, endpoint } = unreadable;
    const named = onOneLine(`${transport} ${endpoint}`, MAX_NAMED_CHARS);
    return { type: 'nothing', reason: `the engine tells its KV events on ${named}, which cannot be read` };
  }
  const cure = isTrtllm
    ? 'switch them on in its kv_cache_config, or read its draining endpoint with --trtllm-drain-events'
    : 'start it with --kv-events-config, or name the sources with --kv-event-sources';
  const reason = `the engine names no source of KV events; ${cure}`;
  const wasSaid = report.evidence.some(({ field }) => field === 'kv_event_sources');
  return { type: wasSaid ? 'nothing' : 'unsaid', reason };
}

/** The sources that can be read; of several for one rank the first. */
function sourcesOf(told: readonly KvEventSource[]): RankSource[] {
  const byRank = new Map<number, RankSource>();
  for (const { dataParallelRank: rank, transport, endpoint, topic, replayEndpoint } of told) {
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

function planDrain(report: CapabilityReport): EventPlan {
  const httpUrl = engineHttpUrl(report);
  if (httpUrl === undefined) {
    return {
      type: 'unsaid',
      reason: 'TensorRT-LLM tells its KV events over HTTP, and its address is not known',
    };
  }
  const url = `${httpUrl}${TRTLLM_DRAIN_PATH}`;
  const { tokensPerBlock } = report.contract ?? {};
  const size = tokensPerBlock === undefined ? {} : { tokensPerBlock };
  return { type: 'read', sources: [{ kind: 'trtllm-drain', rank: 0, url, ...size }] };
}
