import type { KvBlock } from './kv-cache.js';
import type { KvEventPorts } from './kv-publisher.js';
import type { Packable } from './msgpack.js';
import type { TransferNetwork } from './transfer-network.js';

/** How one run of a simulated engine is set up. */
export interface EngineSetup {
  /** The served model name. */
  readonly model: string;
  /** The size that the engine runs with: the number of tokens in its KV blocks. */
  readonly tokensPerBlock: number;
  /** What its configuration or its model card says, where the engine reports that separately. Default `tokensPerBlock`. */
  readonly configuredTokensPerBlock?: number;
  /** KV blocks on the device. Default 65,536. */
  readonly totalBlocks?: number;
  /** Longest context in tokens. Default 8,192. */
  readonly maxModelLen?: number;
  /** Whether it publishes KV events, where the engine is one that does. Default false. */
  readonly publishesKvEvents?: boolean;
  /** The part of requests that it computes for another engine. Absent: it computes whole ones, and hands nothing over. */
  readonly part?: EnginePart;
}

/** How one engine hands what it computed to another one. */
export interface EnginePart {
  readonly role: 'prefill' | 'decode';
  /** What engines of one network hold for each other. */
  readonly network: TransferNetwork;
}

/** A setup with its defaults, and when it was started. */
export interface EngineRun extends EngineSetup {
  readonly configuredTokensPerBlock: number;
  readonly totalBlocks: number;
  readonly maxModelLen: number;
  /** Wall-clock milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Where it publishes KV events; absent when it publishes none. */
  readonly kvEventPorts?: KvEventPorts;
}

/** One answer with status 200. */
export interface EnginePage {
  readonly contentType: string;
  readonly body: string;
}

/** What engines of one kind say over HTTP. To simulate another engine is to add one of these. */
export interface EngineSurface {
  /** As people call it: `vLLM`. */
  readonly name: string;
  /** What a running engine answers, by path without query; every other path is 404. */
  pages(run: EngineRun): Readonly<Record<string, EnginePage>>;
  /** Whether it answers prompts over OpenAI's API, as vLLM does. Default false: it only reports about itself. */
  readonly servesOpenAi?: boolean;
  /** How it words its KV events; absent when it publishes none. */
  readonly kvEvents?: KvEventStyle;
  /** How it registers itself in Dynamo's file discovery; absent for an engine outside of Dynamo. */
  readonly discovery?: DiscoveryStyle;
}

/** How an engine words its KV events. */
export interface KvEventStyle {
  /** What it publishes as soon as it runs. */
  readonly atStart: readonly Packable[];
  /** One event for blocks that follow each other in one prompt. */
  stored(blocks: readonly KvBlock[], tokensPerBlock: number): Packable;
  /** Events for blocks that were evicted together. */
  removed(blocks: readonly KvBlock[]): readonly Packable[];
}

/** The files of a worker in the folder of Dynamo's file discovery. */
export interface DiscoveryStyle {
  /** The folder's root, as the sidecar's settings name it. Nothing is written to the disk: it is simulated like the rest. */
  readonly folder: string;
  /** Texts by path. */
  files(run: EngineRun): Readonly<Record<string, string>>;
}

/** A JSON answer. */
export function jsonPage(value: unknown): EnginePage {
  return { contentType: 'application/json', body: JSON.stringify(value) };
}

/** OpenAI's list of models with the one of a run; `more` is what the engine says of it beside OpenAI's own fields. */
export function modelsPage(
  { model, startedAtMs }: EngineRun,
  ownedBy: string,
  more: Readonly<Record<string, unknown>> = {},
): EnginePage {
  const listed = { id: model, object: 'model', created: Math.floor(startedAtMs / 1_000), owned_by: ownedBy };
  return jsonPage({ object: 'list', data: [{ ...listed, ...more }] });
}

/** An answer in Prometheus' text format, as the engines' Python client sends it. */
export function metricsPage(lines: readonly string[]): EnginePage {
  return { contentType: 'text/plain; version=1.0.0; charset=utf-8', body: `${lines.join('\n')}\n` };
}

/** A health answer: status 200 and nothing else. */
export const EMPTY_PAGE: EnginePage = { contentType: 'text/plain', body: '' };

/** A gauge with one series; `labels` as they stand between the braces. */
export function gauge(name: string, help: string, labels: string, value: number): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    `${name}${labels === '' ? '' : `{${labels}}`} ${metricNumber(value)}`,
  ];
}

/** A number as Prometheus' Python client writes it: `32.0`, `1.795224e+09`. @internal */
export function metricNumber(value: number): string {
  if (Math.abs(value) < 1_000_000) return Number.isInteger(value) ? value.toFixed(1) : String(value);
  const [digits = '', exponent = ''] = value.toExponential().split('e+');
  return `${digits}e+${exponent.padStart(2, '0')}`;
}
