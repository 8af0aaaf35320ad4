import type { Fact } from '../../core/contract/evidence/facts.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { HttpGet } from '../../edge/platform/net/http-get.js';
import type { EngineRpc } from '../../edge/rpc/engine-rpc.js';
import type { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { RecognisableEngine } from './recognition.js';

export type { HttpAnswer, HttpGet } from '../../edge/platform/net/http-get.js';
export { ProbeError, type ProbeErrorCode } from '../../edge/platform/probe-error.js';
export type { EngineRpc } from '../../edge/rpc/engine-rpc.js';

/** What a probe may use. Tests hand in recordings. */
export interface ProbeModules {
  readonly clock: Clock;
  /** The engines that are known, which a probe distinguishes before it asks anything that only one of them has. */
  readonly engines: readonly RecognisableEngine[];
  readonly httpGet: HttpGet;
  readonly rpc: EngineRpc;
  /** Reads a text file, at most `maxBytes` of it. */
  readonly readFile: (path: string, maxBytes: number) => Promise<string>;
  /** Names of the files directly in a folder. */
  readonly listFiles: (folder: string) => Promise<readonly string[]>;
}

/** Where the engine is, as the operator said or `--engine auto` found. */
export interface ProbeTarget {
  /**
   * What the engine is, when the operator said so or an earlier round found
   * out. While it is undefined every probe whose path means something else on
   * another engine identifies the engine first (`identify-engine.ts`).
   */
  readonly engineKind?: EngineKind;
  /** HTTP base URL without a trailing slash: `http://127.0.0.1:8000`. */
  readonly httpBaseUrl?: string;
  /** `HOST:PORT` of the engine's own gRPC. */
  readonly grpcAddress?: string;
  /** The engine's configuration file (TensorRT-LLM's YAML). */
  readonly configFile?: string;
  /** Root folder of Dynamo's file discovery backend. */
  readonly dynamoFileKv?: string;
}

/** What one source reported. */
export interface ProbeAnswer {
  readonly facts: readonly Fact[];
  /** What a person should know although the facts are usable. */
  readonly warnings?: readonly string[];
}

/**
 * Reads one source of one engine. Probes run side by side; one that fails is
 * reported and the others go on.
 */
export interface EngineProbe {
  /** `vllm-metrics`; unique, and the name in the report. */
  readonly name: string;
  /** The engine that this source belongs to; undefined where any engine may have it. */
  readonly engineKind: EngineKind | undefined;
  /** What will be asked, for people; undefined when this probe has nothing to ask at that target. */
  origin(target: ProbeTarget): string | undefined;
  /** Asks. Rejects with a `ProbeError` when there is no usable answer. */
  probe(target: ProbeTarget, modules: ProbeModules, signal: AbortSignal): Promise<ProbeAnswer>;
}
