import {
  type CapabilityReport,
  EngineRole,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../gen/kvaccord/v1/capabilities.js';
import { type TransferProtocol, transferProtocolOf } from './transfer/connector-rules.js';
import { MAX_COUNTS } from './wire/report-limits.js';
import { isName } from './wire/report-name.js';

/**
 * Which part of a request an engine computes; `aggregated` is all of it, and is taken for what cannot be said.
 * `other` is a part that a newer peer names and this version has no word for.
 */
export type ServingRole = 'aggregated' | 'prefill' | 'decode' | 'other';

/** What a sender of requests has to know of an engine that computes a part of them. */
export interface SplitServing {
  readonly protocol: TransferProtocol;
  /** For `bootstrap`: HOST:PORT at which decode engines ask a rank of a prefill worker; empty where none is known. */
  readonly bootstrapAddresses: ReadonlyMap<number, string>;
  /** Of the KV blocks, in bytes for each token; undefined where the report does not say what they are made of. */
  readonly bytesPerToken: number | undefined;
}

/** What a sender of requests has to know of a worker. */
export interface Serving {
  /**
   * Base URLs of its OpenAI server, the best first: as others reach it where the operator says so, else as its
   * sidecar does, often on loopback. `/v1/…` is appended to them. Http and https alone.
   */
  readonly httpUrls: readonly string[];
  /** The data-parallel ranks that requests may be sent to, ascending; never empty. */
  readonly ranks: readonly number[];
  /** Every name under which the model is served; the first one names the group. */
  readonly servedNames: readonly string[];
  readonly loraAdapters: readonly string[];
  readonly role: ServingRole;
  /** How a part of a request is sent to it; undefined for a worker that computes all, and where its way is not known here. */
  readonly split?: SplitServing | undefined;
  /** API paths that its engine has; absent where that is not known. */
  readonly apis?: readonly string[];
  /** Longest context in tokens; undefined where the engine does not report it. */
  readonly maxModelLen: number | undefined;
  /** SHA-256 over the tokenizer's files; undefined where they cannot be read. */
  readonly tokenizerFingerprint: string | undefined;
}

/** Addresses of one worker that are looked at. */
const MAX_HTTP_URLS = 16;

const ROLES: Readonly<Record<number, ServingRole>> = {
  [EngineRole.UNSPECIFIED]: 'aggregated',
  [EngineRole.AGGREGATED]: 'aggregated',
  [EngineRole.PREFILL]: 'prefill',
  [EngineRole.DECODE]: 'decode',
};

/** Reads it from a report that is within its bounds. */
export function servingOf(report: CapabilityReport): Serving {
  const { engine, model } = report;
  return {
    httpUrls: (engine?.servingAddresses ?? [])
      .filter(
        ({ protocol, address }) => protocol === ServingAddress_Protocol.OPENAI_HTTP && isHttpUrl(address),
      )
      .slice(0, MAX_HTTP_URLS)
      .map(({ address }) => address),
    ranks: ranksOf(report),
    servedNames: [...(model?.servedNames ?? [])],
    loraAdapters: (model?.loraAdapters ?? []).filter(isName),
    role: ROLES[engine?.role ?? EngineRole.UNSPECIFIED] ?? 'other',
    split: splitOf(report),
    ...(engine === undefined || engine.apis.length === 0 ? {} : { apis: [...engine.apis] }),
    // 0 holds no prompt at all: a report of it says nothing.
    maxModelLen: model?.maxModelLen || undefined,
    tokenizerFingerprint: model?.tokenizerFingerprint,
  };
}

/**
 * The ranks whose KV events the engine reports are the ranks there are. Without
 * these: the one that the worker names as its own, or as many as it runs
 * itself, and those that the operator names sources for.
 */
function ranksOf({ parallelism, kvEventSources, evidence }: CapabilityReport): readonly number[] {
  const named = kvEventSources.map(({ dataParallelRank }) => dataParallelRank);
  const isDeclared = evidence.some(
    ({ field, source }) => field === 'kv_event_sources' && source === EvidenceSource.DECLARED,
  );
  if (named.length > 0 && !isDeclared) return distinct(named);
  const { dataParallelRank: first = 0, dataParallelSize, dataParallelSizeLocal } = parallelism ?? {};
  const size = parallelism?.dataParallelRank === undefined ? dataParallelSize : 1;
  const least = named.length > 0 ? 0 : 1;
  const length = Math.min(Math.max(dataParallelSizeLocal ?? size ?? 0, least), MAX_COUNTS.kvEventSources);
  return distinct([...named, ...Array.from({ length }, (_, rank) => first + rank)]);
}

function splitOf(report: CapabilityReport): SplitServing | undefined {
  const { engine, transfer } = report;
  if (engine?.role !== EngineRole.PREFILL && engine?.role !== EngineRole.DECODE) return undefined;
  const protocol = transferProtocolOf(transfer?.connector ?? '', engine.kind);
  if (protocol === undefined) return undefined;
  const bootstrapAddresses = new Map<number, string>();
  for (const { dataParallelRank, address } of transfer?.sideChannels ?? [])
    if (protocol === 'bootstrap' && !bootstrapAddresses.has(dataParallelRank))
      bootstrapAddresses.set(dataParallelRank, address);
  return { protocol, bootstrapAddresses, bytesPerToken: bytesPerToken(transfer) };
}

/** Widths of numbers in a KV cache, by the last part of the engine's word for them. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/^(fp8|int8|e4m3|e5m2|float8)/, 1],
  [/^(float32|fp32)/, 4],
  [/^(bfloat16|float16|half|bf16|fp16)/, 2],
];

/** Keys and values of all layers and heads; undefined where one of the numbers is missing or none can be. */
function bytesPerToken(transfer: CapabilityReport['transfer']): number | undefined {
  const { layerCount = 0, kvHeadCount = 0, headSize = 0, dtype = '', kvCacheDtype = '' } = transfer ?? {};
  const word = kvCacheDtype === '' || kvCacheDtype === 'auto' ? dtype : kvCacheDtype;
  const width = WIDTHS.find(([pattern]) => pattern.test(word))?.[1];
  const bytes = 2 * layerCount * kvHeadCount * headSize * (width ?? 0);
  return bytes > 0 && bytes <= MAX_BYTES_PER_TOKEN ? bytes : undefined;
}

/** 64 MiB: a thousand times what the largest models have. */
const MAX_BYTES_PER_TOKEN = 64 * 1024 * 1024;

function distinct(ranks: readonly number[]): readonly number[] {
  return [...new Set(ranks)].sort((a, b) => a - b).slice(0, MAX_COUNTS.kvEventSources);
}

/** Whether it is a base URL: what `/v1/…` is appended to has no query, and no password. */
function isHttpUrl(address: string): boolean {
  if (!isName(address) || !/^https?:\/\//i.test(address) || !URL.canParse(address)) return false;
  const { username, password, port } = new URL(address);
  return username === '' && password === '' && port !== '0' && !/[?#]/.test(address);
}
