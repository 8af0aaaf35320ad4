import type { EngineWord } from '../../core/contract/wire/engine-kinds.js';
import type { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import type { EngineProbe, ProbeTarget } from '../probing/probe.js';
import type { Recognition } from '../probing/recognition.js';
import type { DefaultSize } from './default-size.js';
import type { EngineLaunch } from './engine-launch.js';
import type { EnginePages } from './engine-pages.js';
import type { GrpcService } from './grpc-service.js';
import type { LoadMetrics } from './load-metrics.js';
import type { PromptPath } from './prompt-path.js';
import type { AgentRequest, ChatRequest, TokenEndpoint } from './token-endpoint.js';

/** What asking an engine needs; apart from the rest, for it brings the code of its gRPC along. */
export interface EngineProbing {
  /** One for each source of the engine, in the order of the report. */
  readonly probes: readonly EngineProbe[];
  /** Services of the engine's own gRPC by which it is recognised, in the order in which they are asked. */
  readonly grpcServices: readonly GrpcService[];
}

/**
 * A form in which a side channel is asked for what a transfer needs. `nixl-3`: msgpack of `("get_meta_msg", pipeline rank,
 * tensor rank)` behind an empty frame, to a ZeroMQ ROUTER.
 */
export type SideChannelForm = 'nixl-3';

/** How an engine publishes KV events, as far as a sidecar has to know. */
export interface EngineKvEvents {
  /** What an operator does about an engine that names no source: `start it with --kv-events-config, or …`. */
  readonly howToPublish: string;
  /** Path of an HTTP endpoint that loses what is read from it. Absent where the engine has none. */
  readonly drainPath?: string;
  /** The setting that switches the prefix cache off: `--disable-radix-cache`. Absent where it is not known. */
  readonly cacheOffSetting?: string;
}

/**
 * All that the program knows of one kind of engine. Whatever differs between
 * engines is read from here; nothing else branches on the kind.
 *
 * Which block sizes an engine can take, and how its size is set, is in
 * `core/contract` (`evidence/size-rule.ts`, `wire/engine-kinds.ts`): the rules of agreement
 * need it, and they import no engine.
 */
export interface EngineDescriptor {
  readonly kind: EngineKind;
  /** In `--engine-kind` and wherever a setting names the engine. */
  readonly word: EngineWord;
  /** As its makers write it: `TensorRT-LLM`. */
  readonly displayName: string;
  readonly recognition: Recognition;
  /** Local ports on which `--engine auto` looks, the usual one first. Empty where there is none. */
  readonly ports: {
    readonly http: readonly number[];
    readonly grpc: readonly number[];
    /** Variable of the environment that names its HTTP port. */
    readonly variable?: string;
  };
  /** Where else to look for it, by the variables of the environment that the engine itself reads. */
  targetOf?(environment: Readonly<Record<string, string | undefined>>): Pick<ProbeTarget, 'dynamoFileKv'>;
  /** Loads what asking the engine needs. Rejects only when the program's own files are gone. */
  loadProbing(): Promise<EngineProbing>;
  /** Where it turns a prompt into tokens, the best first; empty where it cannot be asked. */
  readonly tokenEndpoints: readonly TokenEndpoint[];
  /**
   * The chat that the engine makes of a request of another API; undefined where
   * that is not known for sure. Absent for an engine of which nothing is known.
   */
  readonly asChat?: (request: AgentRequest) => ChatRequest | undefined;
  /** Paths that answer prompts, for the canary, the one that reports most of its cache first; empty where none may be asked. */
  readonly promptPaths: readonly PromptPath[];
  /**
   * A path that is asked with GET and answers 200 only after the engine has computed something, such as one token of its own.
   * Absent where there is none that is known.
   */
  readonly generationCheckPath?: string;
  /** Metrics that say how busy it is; absent where it has none that are known. */
  readonly load?: LoadMetrics;
  readonly kvEvents: EngineKvEvents;
  /** What its programs take when nothing sets a block size. Empty where that is not known. */
  readonly defaultSizes: readonly DefaultSize[];
  /**
   * How the side channel of a connector (`transfer.connector`) is asked in a version of the engine; undefined where that is
   * not known for sure: one message of another form ends some listeners for good. Absent where nothing can be asked.
   */
  sideChannelForm?(connector: string, version: string): SideChannelForm | undefined;
  /** How it is started in manifests and scripts; absent for what is never started by a name that is known. */
  readonly launch?: EngineLaunch;
  /** How the doctor reads its pages of metrics; absent where none is known. */
  readonly pages?: EnginePages;
  /** Loads what reading its logs needs; absent where they are not known. Only the doctor asks for it. */
  loadDiagnosis?(): Promise<EngineDiagnosis>;
  /** True where its processes run one of the other engines: a line or page of theirs can be both's, and is first its own. */
  readonly runsOtherEngines?: true;
}
