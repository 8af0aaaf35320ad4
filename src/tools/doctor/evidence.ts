import type { ProbeAnswer, TokenValues } from '../../core/contract/tokens/token-answers.js';
import type { Finding } from '../manifests/lint/findings/finding.js';
import type { NamedText } from '../manifests/lint/fixes/apply-fixes.js';
import type { LogSummary } from './logs/log-summary.js';
import type { MetricsPage } from './metrics/metrics-page.js';
import type { GpuSighting, Origin, SettingSighting, SizeSighting } from './sightings.js';

export type { GpuSighting, Origin, SettingSighting, SizeSighting } from './sightings.js';

/** What kv-accord's own processes say of a group of workers. */
export interface FleetSighting {
  readonly group: string;
  /** `collecting`, `agreed`, `conflict`… as in `kv-accord status`. */
  readonly state: string;
  readonly gateOpen: boolean;
  readonly tokensPerBlock: number | undefined;
  /** `closed`, `exact`, `mixed`, `approximate`, `load_only`; undefined where only sidecars were asked. */
  readonly routingMode: string | undefined;
  /** For operators. */
  readonly reasons: readonly string[];
  readonly members: readonly MemberSighting[];
  readonly origin: Origin;
}

/** One worker as its sidecar or the aggregator reports it. */
export interface MemberSighting {
  readonly worker: string;
  readonly state: string;
  readonly reason: string;
  readonly tokensPerBlock: number | undefined;
  /** What the worker declares, where that is another number than its engine's. */
  readonly declaredTokensPerBlock: number | undefined;
}

/** What a worker makes of the fixed prompts. */
export interface TokenSighting {
  /** The served model. */
  readonly group: string;
  readonly who: string;
  readonly values: TokenValues;
  readonly answers: readonly ProbeAnswer[];
  readonly origin: Origin;
}

/** A worker whose KV events are read elsewhere than its engine says that it publishes them. */
export interface EventSourceSighting {
  readonly who: string;
  readonly readAt: string;
  readonly saidAt: string;
  /** Where its own engine publishes. */
  readonly publishes: readonly string[];
  /** The worker of the same source whose engine publishes where this one's events are read; undefined where none is known. */
  readonly owner: string | undefined;
  readonly origin: Origin;
}

/** Layers that keep the same of every token. */
export interface LayerGroup {
  readonly layers: number;
  readonly kvHeads: number;
  /** Values of one key. */
  readonly headSize: number;
  /** Values of what belongs to one key; mostly the same. */
  readonly valueSize: number;
  /** Multi-head latent attention: values that are cached for each token and layer in place of keys and values. */
  readonly latentSize: number | undefined;
  /** Bytes for each token and layer beside, for an indexer of sparse attention; 0 without one. */
  readonly indexBytes: number;
  /** Tokens that such a layer keeps of a sequence; undefined where it keeps all. */
  readonly windowTokens: number | undefined;
}

/** The shape of a model, from its `config.json`. */
export interface ModelShape {
  readonly name: string;
  /** Layers that keep keys and values of tokens: those of all groups. */
  readonly layers: number;
  /** Of the first group, as are the head size and the latent size. */
  readonly kvHeads: number;
  readonly headSize: number;
  /** Bytes of one value in the dtype in which engines load the model; those of the KV cache where nothing else is set. */
  readonly dtypeBytes: number;
  /** Bits of a cached value by the checkpoint's own quantisation; undefined where it has none for the cache. */
  readonly cacheBits: number | undefined;
  /** Whether the weights are quantised as published. */
  readonly isQuantised: boolean;
  /** Whether they are published in 32 bits, of which engines load 16 unless they are given that dtype. */
  readonly isInFloat32: boolean;
  /** Whether layers have experts, which parallelism divides otherwise than the rest. */
  readonly hasExperts: boolean;
  /** Multi-head latent attention: values that are cached for each token and layer in place of keys and values. */
  readonly latentSize: number | undefined;
  /** Tokens that a windowed layer keeps, and how many layers are windowed; undefined without a window. */
  readonly slidingWindow: { readonly tokens: number; readonly layers: number } | undefined;
  /** Whether its windows are chunks (Llama 4), of which vLLM keeps all tokens unless it is set otherwise. */
  readonly hasChunks: boolean;
  /** The layers by what they keep of a token; at least one. */
  readonly groups: readonly LayerGroup[];
  /** Layers of multi-token prediction, which engines load and cache for where they draft tokens with them; undefined without any. */
  readonly nextTokenLayers: LayerGroup | undefined;
  /** Layers that keep a state of one size for each sequence (Mamba, linear attention), which is not counted. */
  readonly stateLayers: number;
  /** Bytes of all weights as engines load them, by an index of their files, or counted from the shape of a dense model that is not quantised. */
  readonly weightBytes: number | undefined;
  /** Where the size of the weights is from. */
  readonly weightOrigin: Origin | undefined;
  readonly origin: Origin;
}

/** What came of one source that was to be read. */
export interface SourceOutcome {
  readonly kind: 'log' | 'metrics' | 'manifests' | 'fleet' | 'engine' | 'cluster' | 'gpu' | 'model';
  /** As the operator named it. */
  readonly name: string;
  readonly status: 'read' | 'partly_read' | 'not_read';
  /** What it gave, or why not. */
  readonly detail: string;
}

/** All that was gathered. Every list may be empty; absent means that it was not seen, never that it is not so. */
export interface Evidence {
  readonly sources: readonly SourceOutcome[];
  readonly sizes: readonly SizeSighting[];
  readonly settings: readonly SettingSighting[];
  readonly logs: readonly LogSummary[];
  readonly metrics: readonly MetricsPage[];
  /** What `lint` finds in the manifests. */
  readonly findings: readonly Finding[];
  /** The manifests as they are, under the names that findings have for them. */
  readonly manifests: readonly NamedText[];
  readonly fleets: readonly FleetSighting[];
  readonly tokens: readonly TokenSighting[];
  readonly eventSources: readonly EventSourceSighting[];
  readonly models: readonly ModelShape[];
  readonly gpus: readonly GpuSighting[];
}

/** What one source adds to the evidence. */
export type EvidencePart = { readonly source: SourceOutcome } & Partial<Omit<Evidence, 'sources'>>;

/** Joins what the sources gave. */
export function joinEvidence(parts: readonly EvidencePart[]): Evidence {
  return {
    sources: parts.map(({ source }) => source),
    sizes: parts.flatMap(({ sizes = [] }) => sizes),
    settings: parts.flatMap(({ settings = [] }) => settings),
    logs: parts.flatMap(({ logs = [] }) => logs),
    metrics: oneOfEach(parts.flatMap(({ metrics = [] }) => metrics)),
    findings: parts.flatMap(({ findings = [] }) => findings),
    manifests: parts.flatMap(({ manifests = [] }) => manifests),
    fleets: parts.flatMap(({ fleets = [] }) => fleets),
    tokens: parts.flatMap(({ tokens = [] }) => tokens),
    eventSources: parts.flatMap(({ eventSources = [] }) => eventSources),
    models: parts.flatMap(({ models = [] }) => models),
    gpus: parts.flatMap(({ gpus = [] }) => gpus),
  };
}

/** An engine that is named by its address and by that of its metrics gives the same page twice, and its counters count once. */
function oneOfEach(pages: readonly MetricsPage[]): readonly MetricsPage[] {
  const addressOf = ({ name }: MetricsPage): string => name.replace(/\/+$/, '').replace(/\/metrics$/, '');
  const isUrl = ({ name }: MetricsPage): boolean => /^https?:\/\//.test(name);
  const first = new Map(
    pages
      .filter(isUrl)
      .reverse()
      .map((page) => [addressOf(page), page]),
  );
  return pages.filter((page) => !isUrl(page) || first.get(addressOf(page)) === page);
}
