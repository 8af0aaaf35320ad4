import type { Fact } from '../../contract/facts.js';
import type { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { Clock } from '../../platform/clock.js';

/** A body that an engine answered, already bounded in size and time. */
export interface HttpAnswer {
  readonly status: number;
  /** Lower case, without parameters: `application/json`. Empty when not told. */
  readonly contentType: string;
  readonly body: string;
}

/**
 * Asks one engine endpoint. Rejects with a `ProbeError` when the engine cannot
 * be reached, takes too long or answers more than the limit; an HTTP error
 * status is an answer.
 */
export type HttpGet = (url: string, options: { readonly signal: AbortSignal }) => Promise<HttpAnswer>;

/** Calls one unary method of an engine's own gRPC; bounded in time. Rejects with a `ProbeError`. */
export interface EngineRpc {
  call<Request, Response>(
    address: string,
    method: {
      readonly path: string;
      readonly requestSerialize: (value: Request) => Buffer;
      readonly responseDeserialize: (value: Buffer) => Response;
    },
    request: Request,
    options: { readonly signal: AbortSignal },
  ): Promise<Response>;
}

/** What a probe may use. Tests hand in recordings. */
export interface ProbeModules {
  readonly clock: Clock;
  readonly httpGet: HttpGet;
  readonly rpc: EngineRpc;
  /** Reads a text file, at most `maxBytes` of it. */
  readonly readFile: (path: string, maxBytes: number) => Promise<string>;
  /** Names of the files directly in a folder. */
  readonly listFiles: (folder: string) => Promise<readonly string[]>;
}

/** Where the engine is, as the operator said or `--engine auto` found. */
export interface ProbeTarget {
  /** HTTP base URL without a trailing slash: `http://127.0.0.1:8000`. */
  readonly httpBaseUrl?: string;
  /** `HOST:PORT` of the engine's own gRPC. */
  readonly grpcAddress?: string;
  /** The engine's configuration file (TensorRT-LLM's YAML). */
  readonly configFile?: string;
  /** Root folder of Dynamo's file discovery backend. */
  readonly dynamoFileKv?: string;
}

/** What one source told. */
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

/** Why a probe has no facts. `not_here` means that the engine has no such endpoint. */
export type ProbeErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'not_here'
  | 'not_ready'
  | 'too_large'
  | 'bad_answer';

/** A source that gave nothing: what was asked, and what came back. */
export class ProbeError extends Error {
  readonly code: ProbeErrorCode;
  /** What was asked: `GET http://127.0.0.1:8000/metrics`. */
  readonly origin: string;

  constructor(code: ProbeErrorCode, origin: string, message: string) {
    super(`${origin}: ${message}`);
    this.name = 'ProbeError';
    this.code = code;
    this.origin = origin;
  }
}
