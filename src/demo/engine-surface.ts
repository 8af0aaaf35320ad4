/** How one run of a simulated engine is set up. */
export interface EngineSetup {
  /** The served model name. */
  readonly model: string;
  /** The size that the engine runs with: the width of the KV blocks that it really cuts. */
  readonly tokensPerBlock: number;
  /** What its configuration asks for, where the engine tells that apart. Default `tokensPerBlock`. */
  readonly configuredTokensPerBlock?: number;
  /** KV blocks on the device. Default 65,536. */
  readonly totalBlocks?: number;
  /** Longest context in tokens. Default 8,192. */
  readonly maxModelLen?: number;
  /**
   * Port of a ZMQ publisher of KV events, where the engine is to announce one.
   * Nothing here listens on it. Default: the engine says that it publishes none.
   */
  readonly kvEventsPort?: number;
}

/** A setup with its defaults, and when it was started. */
export interface EngineRun extends EngineSetup {
  readonly configuredTokensPerBlock: number;
  readonly totalBlocks: number;
  readonly maxModelLen: number;
  /** Wall-clock milliseconds since 1970. */
  readonly startedAtMs: number;
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
}

/** A JSON answer. */
export function jsonPage(value: unknown): EnginePage {
  return { contentType: 'application/json', body: JSON.stringify(value) };
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

/** A number as Prometheus' Python client writes it: `32.0`, `1.795224e+09`. */
export function metricNumber(value: number): string {
  if (Math.abs(value) < 1_000_000) return Number.isInteger(value) ? value.toFixed(1) : String(value);
  const [digits = '', exponent = ''] = value.toExponential().split('e+');
  return `${digits}e+${exponent.padStart(2, '0')}`;
}
