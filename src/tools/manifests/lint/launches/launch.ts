import type { EngineWord } from '../../../../core/contract/wire/engine-kinds.js';
import type { Release } from '../../../../engines/descriptor/default-size.js';
import type { ContainerSite, ObjectIdentity, PodSite } from '../../pod-site.js';
import type { Word } from '../shell/words.js';
import type { InnerText } from '../text/scalar-text.js';
import type { Span, TextSource } from '../text/span.js';
import type { DynamoVersion } from './dynamo-version.js';
import type { SettingValue } from './setting-value.js';

/** What a process does in a deployment. */
export type Role =
  /** `dynamo.frontend`: HTTP in front, with a router inside. */
  | 'frontend'
  /** `dynamo.router`: a router of its own. */
  | 'router'
  /** `dynamo.indexer`. */
  | 'indexer'
  /** The endpoint picker (EPP) of a graph: Dynamo's router behind a Kubernetes gateway. */
  | 'picker'
  /** An engine, with or without a Dynamo wrapper around it. */
  | 'worker'
  /** kv-accord's own: by the name of its command. */
  | 'kv-accord'
  /** A router of others than Dynamo, which `gateway` describes. */
  | 'gateway'
  /** Seen, and compared with nothing: `unchecked` says why. */
  | 'unchecked';

/** The engine of a worker; `mocker` is Dynamo's simulated one. */
export type Backend = EngineWord | 'mocker';

/** A program that a manifest or a script starts, with all that decides how it behaves. */
export interface Launch {
  readonly role: Role;
  /** As people call it: `dynamo.frontend`, `vllm serve`, `kv-accord sidecar`. */
  readonly program: string;
  readonly backend: Backend | undefined;
  /** Whether a worker registers itself with Dynamo, by a card. */
  readonly isDynamo: boolean;
  /** The arguments behind the program. */
  readonly args: readonly Word[];
  /** Its variables; the value is undefined where the manifest does not have it (`valueFrom`). */
  readonly env: ReadonlyMap<string, Word>;
  /** Whether there may be arguments that are not seen here. */
  readonly hasUnseenArgs: boolean;
  /** Whether there may be variables that are not seen here, such as those of an absent ConfigMap. */
  readonly hasUnseenEnv: boolean;
  /** The program's words. */
  readonly at: Span;
  readonly source: TextSource;
  readonly site: PodSite | undefined;
  readonly container: ContainerSite | undefined;
  /** Dynamo's version, as the image says it. */
  readonly version: DynamoVersion | undefined;
  /** Whether `kv-accord exec` starts it, and so gives it the agreed size. */
  readonly isGated: boolean;
  /** How its arguments are written: as items of a YAML list, or inside a script. */
  readonly argsAre: 'items' | 'script';
  /** Why nothing is compared with it, of a program with the role `unchecked`. */
  readonly unchecked?: string;
  /** Whether such a program is known to route by what it guesses itself: what stands beside it has its router. */
  readonly isGuessing?: boolean;
  /**
   * The text of a file that the process reads at a path: of a ConfigMap, of a
   * document that the script wrote before, or of a file beside it. Undefined when it is not in these files.
   */
  readonly fileAt: (path: PathSetting) => InnerText | undefined;
  /** What a router of others compares, of a program with the role `gateway`. */
  readonly gateway?: Gateway;
  /** Whether a worker reports to LMCache's controller; undefined where its files do not say. */
  readonly reportsToLmcache?: boolean;
  /** Which part of a request a worker computes, by the section of a chart's values that it stands in. */
  readonly section?: 'prefill' | 'decode';
  /** How many of them there are, where that is written and a router chooses among these alone. */
  readonly count?: number;
  /** How its KV events are switched on, where that is no flag of its own. */
  readonly eventsCure?: string;
  /** The branches of a script in which it stands, from the outermost; absent for what runs in any case. */
  readonly branch?: readonly string[];
  /** The object that configures a router beside its own workers, such as an LLMInferenceService. */
  readonly owner?: ObjectIdentity | undefined;
  /** The container or the node that a command of a script starts it in, which has a network of its own: the same object for what shares it. */
  readonly network?: object | undefined;
  /** The service of a compose file: all of them run at one time. */
  readonly service?: string | undefined;
  /** The Kubernetes namespace of a program that no pod spec shows. */
  readonly namespace?: string | undefined;
}

/** Context or generation servers of `trtllm-serve disaggregated`. */
export interface DisaggregatedServers {
  readonly tokensPerBlock: SettingValue | undefined;
  readonly blockReuse: SettingValue | undefined;
  readonly eventBuffer: SettingValue | undefined;
  /** Whether the configuration says anything of their cache; else each server's own decides. */
  readonly hasCacheConfig: boolean;
  readonly routerType: SettingValue | undefined;
  readonly routerTokensPerBlock: SettingValue | undefined;
}

/** How KV events reach llm-d's picker: `kvEventsConfig`. */
export interface EventReception {
  /** Where it listens for workers that connect. */
  readonly endpoint: SettingValue | undefined;
  /** Whether it connects to each pod; undefined where that is not written. */
  readonly discoversPods: boolean | undefined;
  /** The port of the pods that it connects to; undefined where it is not written. */
  readonly podPort: SettingValue | undefined;
  /** All of it. */
  readonly at: Span;
}

/** What a router of others than Dynamo is configured with. */
export interface Gateway {
  readonly kind: /** The endpoint picker of llm-d with `precise-prefix-cache-scorer`, whose keys had to be the engine's. */
    | 'llm-d-scorer'
    /** With `precise-prefix-cache-producer`, which computes its keys from the tokens of events. */
    | 'llm-d-producer'
    /** The gateway of SGLang (smg), which learns the size from events. */
    | 'smg'
    /** The router of production-stack that asks LMCache's controller. */
    | 'lmcache'
    /** A router whose blocks need not be those of its workers. */
    | 'own-blocks'
    | 'trtllm-disaggregated';
  readonly blockSize: SettingValue | undefined;
  /** What it takes without a setting; undefined where it has no block size. */
  readonly defaultBlockSize: number | undefined;
  readonly hashSeed: SettingValue | undefined;
  /** Whether it knows only what KV events say. */
  readonly usesEvents: boolean;
  /** The one part of a request for which it looks prompts up, where its profiles say so. */
  readonly asks?: 'prefill' | 'decode' | undefined;
  /** How KV events are to reach it, where its configuration says that. */
  readonly reception?: EventReception | undefined;
  /** Where a scheduling profile names a plugin that is not there. */
  readonly undefinedRef?: SettingValue | undefined;
  /** Where a plugin stands that no scheduling profile asks. */
  readonly unaskedPlugin?: SettingValue | undefined;
  /** A mode of a plugin that its release does not know, with the release: it guesses instead. */
  readonly ignoredMode?: SettingValue & { readonly version: string };
  /** Labels of the pods that it may choose, where values of its chart say them. */
  readonly selects?: ReadonlyMap<string, string>;
  /** How topics begin that it subscribes to. */
  readonly topicFilter?: SettingValue | undefined;
  /** The release of llm-d's picker, where its image stands beside the configuration. */
  readonly release?: (Release & { readonly text: string }) | undefined;
  /** The model by whose tokenizer it makes tokens of prompts, itself or by a vLLM that it asks under this name. */
  readonly tokenizerModel?: (SettingValue & { readonly isRendered?: boolean }) | undefined;
  readonly context?: DisaggregatedServers;
  readonly generation?: DisaggregatedServers;
}

/** A path as an argument has it: all of it, or what is known of it. */
export interface PathSetting {
  readonly value: string | undefined;
  readonly known?: Word['known'] | undefined;
  /** Where it is written. */
  readonly span?: Span;
}

/** How a process is called in messages: with its place in the deployment. */
export function nameOf({ program, site }: Launch): string {
  if (site === undefined) {
    return program;
  }
  const name = site.part === undefined ? site.name : `${site.name}/${site.part}`;
  return name === '' ? program : `${program} of ${name}`;
}

/** Whether a router is an endpoint picker of llm-d that looks prompts up by their blocks. */
export function isLlmdPicker(gateway: Gateway | undefined): gateway is Gateway {
  return gateway?.kind === 'llm-d-scorer' || gateway?.kind === 'llm-d-producer';
}
