import type { Launch } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, isFalse, switchOf } from '../launches/settings.js';
import { textOfWord } from '../shell/words.js';

/** A part of an engine that keeps or moves KV blocks, which runs only where an argument of the engine switches it on. */
export interface CacheDoor {
  /** As people call it. */
  readonly part: string;
  /** Variables that only this part reads, of those that change what is cached and where. */
  readonly variables?: RegExp;
  /** Flags of the engine that only this part reads. */
  readonly flags?: RegExp;
  /** Whether the command or the variables of an engine may switch it on. */
  readonly isOpen: (launch: Launch) => boolean;
  /** The engine's own argument that does, as an instruction. */
  readonly cure: string;
}

/** The argument that loads a connector of vLLM. */
function connector(name: string, more = ''): string {
  return `--kv-transfer-config '{"kv_connector":"${name}","kv_role":"kv_both"${more}}'`;
}

/** A connector that is not vLLM's own may load whatever it likes: its name says nothing of that. */
const FOREIGN = /module_path/;

/** LMCache's variables are its keys in capitals (`lmcache/v1/config.py`); those of its log, its usage report and its server are none of them, and USE_EXPERIMENTAL is a preset of images. */
const LMCACHE_VARIABLES =
  /^LMCACHE_(?:CONFIG_FILE|CHUNK_SIZE|(?:MAX_|RESERVE_)?LOCAL_(?:CPU|DISK)(?:_SIZE)?|REMOTE_(?:URL|SERDE)|CONTROLLER_(?:PULL_|REPLY_)?URL|ENABLE_(?:CONTROLLER|P2P|PD|BLENDING|ASYNC_LOADING|XPYD)|(?:PD|NIXL)_ROLE|GDS_PATH|USE_LAYERWISE)$/;

/** LMCache by name: a connector, `--kv-offloading-backend lmcache`, `--connector lmcache`, `--enable-lmcache`, `ENABLE_LMCACHE` of Dynamo 0.3. */
const LMCACHE = /lmcache/i;

const KVBM = /kvbm|DynamoConnector|PdConnector/i;

/** vLLM reads it in `MooncakeStoreConnector` (in some releases `MooncakeConnectorV1`), vllm-ascend's `AscendStoreConnector`, and LMCache before a store of Mooncake; FlexKV between nodes. */
const MOONCAKE = /mooncake|lmcache|flexkv|ascend|memcache|ucm/i;

const FLEXKV = /flexkv/i;

const AIBRIX = /aibrix/i;

/** Of each engine, by its word. */
export const CACHE_DOORS: Readonly<Record<string, readonly CacheDoor[]>> = {
  vllm: [
    {
      part: 'LMCache',
      variables: LMCACHE_VARIABLES,
      isOpen: (launch) => names(launch, LMCACHE),
      cure: `Start vLLM with ${connector('LMCacheConnectorV1')}, or take the variables out`,
    },
    {
      part: "Dynamo's block manager (KVBM)",
      variables: /^DYN_KVBM_(?:CPU|DISK|OBJECT)_\w+$/,
      isOpen: (launch) => names(launch, KVBM),
      cure: `Start vLLM with ${connector('DynamoConnector', ',"kv_connector_module_path":"kvbm.vllm_integration.connector"')}, or take the variables out`,
    },
    {
      part: 'Mooncake',
      variables: /^MOONCAKE_CONFIG_PATH$/,
      // The variable is that of Mooncake's own vLLM of 2024, before connectors.
      isOpen: (launch) => names(launch, MOONCAKE) || launch.env.has('VLLM_DISTRIBUTED_KV_ROLE'),
      cure: `Start vLLM with ${connector('MooncakeStoreConnector')}, or take the variable out`,
    },
    {
      part: 'FlexKV',
      variables: /^FLEXKV_(?:CONFIG_PATH|CPU_CACHE_GB|SSD_CACHE_(?:GB|DIR))$/,
      isOpen: (launch) => names(launch, FLEXKV),
      cure: `Start vLLM with ${connector('FlexKVConnectorV1')}, or take the variables out`,
    },
    {
      part: "AIBrix's KVCache",
      variables: /^AIBRIX_KV_CACHE_OL_\w+$/,
      isOpen: (launch) => names(launch, AIBRIX),
      cure: `Start vLLM with ${connector('AIBrixOffloadingConnectorV1Type3')}, or take the variables out`,
    },
    {
      // vllm/config/vllm.py: without a size nothing is offloaded, or the engine refuses it (0.11 to 0.13).
      part: "vLLM's offloading",
      flags: /^--kv-offloading-backend$/,
      isOpen: (launch) => flagOf(launch, '--kv-offloading-size') !== undefined,
      cure: 'Give vLLM --kv-offloading-size GIB beside --kv-offloading-backend',
    },
  ],
  sglang: [
    {
      part: 'LMCache',
      variables: LMCACHE_VARIABLES,
      isOpen: (launch) => names(launch, LMCACHE),
      cure: 'Start SGLang with --enable-lmcache, or take the variables out',
    },
    {
      part: 'the hierarchical cache (HiCache)',
      variables: /^SGLANG_HICACHE_(?:MOONCAKE_CONFIG_PATH|HF3FS_CONFIG_PATH|FILE_BACKEND_STORAGE_DIR)$/,
      flags:
        /^--hicache-(?:ratio|size|write-policy|storage-backend|storage-prefetch-policy|storage-backend-extra-config)$/,
      isOpen: opensHicache,
      cure: 'Start SGLang with --enable-hierarchical-cache',
    },
  ],
  trtllm: [
    {
      part: "Dynamo's block manager (KVBM)",
      variables: /^DYN_KVBM_(?:CPU|DISK|OBJECT)_\w+$/,
      isOpen: (launch) => names(launch, KVBM) || readsFile(launch),
      cure: 'Start dynamo.trtllm with --connector kvbm (trtllm-serve: kv_connector_config in its YAML with connector_module kvbm.trtllm_integration.connector), or take the variables out',
    },
  ],
};

/** Whether an argument, or a variable of another name than the part's own, names what switches the part on. */
function names({ args, env }: Launch, what: RegExp): boolean {
  const texts = args.map(textOfWord);
  const others = [...env].filter(([name]) => /^(?:DYN_CONNECTOR|ENABLE_|VLLM_\w*ARGS$|EXTRA)/.test(name));
  return (
    texts.some((text) => what.test(text) || FOREIGN.test(text)) ||
    others.some(([name, word]) => (what.test(name) && !isFalse(word.value)) || what.test(word.value ?? name))
  );
}

/** HiCache itself, and what uses its settings without it (SGLang 0.5.8 to 0.5.23: `arg_groups/hicache_hook.py`, `mem_cache/registry.py`). */
function opensHicache(launch: Launch): boolean {
  const isOn = switchOf(
    launch,
    [
      '--enable-hierarchical-cache',
      '--enable-hicache',
      '--enable-lmcache',
      '--disaggregation-decode-enable-offload-kvcache',
      '--enable-unified-cache-external-linker',
    ],
    [],
  );
  return (
    isOn?.isOn === true ||
    flagOf(launch, '--radix-cache-backend') !== undefined ||
    flagOf(launch, '--disaggregation-mode')?.value === 'decode'
  );
}

/** Whether TensorRT-LLM takes a YAML, which may name a connector. */
function readsFile(launch: Launch): boolean {
  const files = ['--extra-engine-args', '--extra-llm-api-options', '--config', '--override-engine-args'];
  return flagOf(launch, ...files) !== undefined;
}

/** Settings of a part that an engine has. */
export function settingsOf({ args, env }: Launch, { variables, flags }: CacheDoor): readonly SettingValue[] {
  const found: SettingValue[] = [];
  for (const [name, { value, span }] of env)
    if (variables?.test(name) === true && value !== '') found.push({ value, span, how: 'variable', name });
  for (const { value, span } of args) {
    const name = value?.split('=')[0]?.replace(/_/g, '-');
    if (name !== undefined && flags?.test(name) === true)
      found.push({ value: undefined, span, how: 'flag', name });
  }
  return found;
}
