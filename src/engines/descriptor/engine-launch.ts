import type { SettingName } from '../diagnosis/sighting-words.js';
import type { Release } from './default-size.js';

/** What an engine's key means: a block size, or a setting, whose name may say the opposite. */
export interface KeyMeaning {
  readonly name: SettingName | 'block_size';
  /** `disable_radix_cache: true` is `prefix_caching: false`. */
  readonly isOpposite?: true;
}

/** One line that an operator writes to change an engine's setting. */
export interface SettingLine {
  /** On the engine's command line, or in its YAML file. */
  readonly where: 'arguments' | 'yaml';
  /** `--max-num-seqs 64`. */
  readonly line: string;
  /** What to know of it; empty when it speaks for itself. */
  readonly note: string;
}

/** How an engine is started in manifests and scripts, and which of its settings concern the KV cache. */
export interface EngineLaunch {
  /** Modules behind `python3 -m`, and the program's name in messages: `sglang.launch_server`. */
  readonly modules: Readonly<Record<string, string>>;
  /** Commands, by the program's base name. */
  readonly commands: Readonly<Record<string, LaunchCommand>>;
  /** Images whose entrypoint starts the engine, by the last part of their names: `vllm-openai`. */
  readonly images: Readonly<Record<string, readonly string[]>>;
  /** The engine's version in the tag of such an image; absent where tags do not have it. */
  readonly versionInTag?: RegExp;
  /** Dynamo's wrapper around this engine; absent where there is none. */
  readonly dynamo?: DynamoWrapper;
  /** The flag of a file with more flags, which those of the command line outrank; absent where there is none. */
  readonly flagsFileFlag?: string;
  /** Its arguments by their names in Python, for errors that write them so; absent where its settings are those of a file. */
  readonly arguments?: ReadonlySet<string>;
  /** Flags of the block size; the first is the one to write. Empty where only a file sets it. */
  readonly sizeFlags: readonly string[];
  /** What to know of its flag where the number is none that an operator would choose: an engine computed it for a hybrid model. */
  readonly computedSizeNote?: string;
  /** Flags of decode context parallelism, which multiplies what one block of an event holds. */
  readonly contextParallelFlags: readonly string[];
  /** How the setting of the block size is named in a comment: `TRT-LLM tokens_per_block (default: 32)`. */
  readonly sizeSettingName: string;
  /** The variable that its block hashes depend on; absent where no variable changes them. */
  readonly hashSeedVariable?: string;
  /** Flags that switch the prefix cache on and off. */
  readonly prefixCaching: { readonly on: readonly string[]; readonly off: readonly string[] };
  /** The flag with which it publishes KV events over ZeroMQ; absent where it has none. */
  readonly kvEvents?: KvEventsFlag;
  /** Keys of its configuration file that the doctor reads; with `--` and dashes also its flags. A key inside of a section has that in front. */
  readonly configKeys: Readonly<Record<string, KeyMeaning>>;
  /** The setting that says how many groups attend apart with data parallel attention; absent where it has none. */
  readonly attentionGroups?: 'data_parallel_size' | 'tensor_parallel_size';
  /** True where a checkpoint whose cache has four bits is run so without being asked. */
  readonly takesFourBits?: true;
  /** What applies when nothing is set, where that is the same on every device. */
  readonly defaultSettings?: Readonly<Partial<Record<SettingName, string>>>;
  /** The share of a whole GPU that it takes for weights and cache when nothing is set, the oldest first; absent where more than the release decides. */
  readonly defaultMemoryShares?: readonly MemoryShare[];
  /** Why bytes are no number of tokens where it divides them between kinds of layers, and what has the tokens; absent where they share them. */
  readonly poolsApart?: { readonly windows: string; readonly states: string };
  /** Settings that the doctor proposes. */
  readonly tuning: EngineTuning;
}

/** A share that applied until a release; the last one has none. */
export interface MemoryShare {
  readonly share: number;
  readonly until?: Release;
}

/** A command that starts an engine: `vllm serve`. */
export interface LaunchCommand {
  /** The program's name in messages. */
  readonly program: string;
  /** The word behind the name, `serve`, and whether it may be left out. */
  readonly subcommand: { readonly name: string; readonly isOptional: boolean };
  /** Words behind the name that start something else. */
  readonly others: readonly string[];
}

/** What Dynamo's wrapper around an engine does otherwise than the engine alone. */
export interface DynamoWrapper {
  /** `dynamo.vllm`. */
  readonly module: string;
  /** Further modules that start it, of releases that named it otherwise; absent where there are none. */
  readonly otherModules?: readonly string[];
  /** How its model card is given a block size; absent where the wrapper asks the engine in each release. */
  readonly card?: CardSetting;
  /** The first release in which it publishes KV events only when asked; absent where it always did. */
  readonly publishesByDefaultBefore?: Release;
  /** The settings by which it publishes KV events, in place of a flag of the engine; absent where that flag does it. */
  readonly publishing?: {
    readonly on: readonly string[];
    readonly off: readonly string[];
    readonly variables: readonly string[];
  };
  /** The first release whose workers register blocks as wide as decode context parallelism makes them; absent where none is known. */
  readonly registersContextParallelSince?: Release;
  /** The first release whose frontends have a Python chat processor of this engine; absent where there is none. */
  readonly chatProcessorSince?: Release;
}

/** A block size that a wrapper declares without asking its engine. */
export interface CardSetting {
  readonly flag: string;
  readonly variable: string;
  /** What the card says without either. */
  readonly defaultTokens: number;
  /** The first release that asks the engine. */
  readonly until: Release;
}

/** `--kv-events-config` and its JSON. */
export interface KvEventsFlag {
  readonly flag: string;
  /** JSON that publishes on a port of its own. */
  readonly example: string;
  /** Whether an engine with this configuration publishes. */
  publishes(config: Readonly<Record<string, unknown>>): boolean;
}

/** Settings that give the prefix cache more room. */
export interface EngineTuning {
  /** The flag of the largest number of sequences at a time: `--max-num-seqs`. */
  readonly maxSequencesFlag: string;
  /** What makes it admit less where it takes requests off again; absent where only their number does. */
  readonly admission?: SettingLine;
  /** The setting that says how much memory the cache has: its name in evidence, and more of it. */
  readonly memory: {
    readonly setting: 'gpu_memory_utilization' | 'free_gpu_memory_fraction';
    /** As a sentence names it: `--gpu-memory-utilization`. */
    readonly words: string;
    /** Memory of the GPU that it is a part of: all, what was free as the engine started, or what was free once its weights were loaded. */
    readonly partOf: 'all' | 'free_at_start' | 'free_after_weights';
    readonly more: SettingLine;
    /** What `more` sets; an engine that has as much is not given more. */
    readonly most: number;
    /** The flag with which a number of blocks is given, beside which `more` brings nothing. */
    readonly blocksFlag?: string;
  };
  /** Keeps more blocks for the same memory. */
  readonly retention: SettingLine;
  /** Switches the prefix cache on. */
  readonly prefixCaching: SettingLine;
  /** Gives its stream of KV events room, and a replay where it has one. */
  readonly eventRoom?: SettingLine;
  /** Makes it hash its blocks as others do. */
  readonly hashAlgorithm?: SettingLine;
  /** Names LoRA adapters. */
  readonly adapters?: SettingLine;
  /** Fixes the revision of its tokenizer. */
  readonly tokenizer?: SettingLine;
  /** Keeps what leaves the GPU in host memory. */
  readonly hostCache: HostCache;
  /** Which blocks it drops first, and what can be chosen: one sentence. */
  readonly eviction: string;
}

/** A cache in host memory for blocks that leave the GPU. */
export interface HostCache {
  /** The setting that says that there is one; a size in it where it is the first of `sizes`. */
  readonly setting: SettingName;
  /** The settings of its size: the first that is above zero counts, else the last one with its default. */
  readonly sizes: readonly [HostCacheSize, ...HostCacheSize[]];
  /** The line of a size is written where other settings are, with this to know of it. */
  readonly where: SettingLine['where'];
  readonly note: string;
}

/** One setting of the size of a host cache. */
export interface HostCacheSize {
  readonly setting: SettingName;
  /** The size to begin with, in its own unit. */
  readonly begin: number;
  /** The line that sets a size. */
  line(size: number): string;
}
