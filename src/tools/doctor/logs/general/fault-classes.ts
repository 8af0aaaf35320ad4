import type { Signal } from '../../../../engines/diagnosis/signals.js';
import { shortenedBeforeAdvice } from '../own-advice.js';
import { pathFaultIn, pathFaultSays } from './path-faults.js';
import { roomFaultOf } from './room-faults.js';

/** What a sentence is a sign of, and which of the faults of its class. */
export interface Fault {
  readonly signal: Signal;
  /** A fault of the class, or the sentence itself, without numbers of one request. */
  readonly value: string;
}

/** A kind of sentence: the first that fits names the fault; without a value the sentence is the value. */
interface FaultClass {
  readonly signal: Signal;
  readonly pattern: RegExp;
  readonly value?: string;
}

/** Longest sentence that is kept. */
const MAX_SENTENCE_CHARS = 180;

/** Libraries that move or keep KV blocks outside of an engine, as they are imported. */
const LIBRARIES =
  'tpu_raiden|nixl(?:_cu1\\d|_ep)?|lmcache|mooncake(?:_\\w{1,40})?|flexkv|kvbm|hf3fs\\w*|memfabric\\w*|mori|ucx\\w*|ucp|ucs|uct|ibverbs|rdmacm|mlx5|UCX|NIXL|Mooncake|LMCache|FlexKV|MoRIIO|HF3FS';

/** A pool whose sum does not come out: a fault of the program, whatever its size. */
const LEAK: FaultClass = {
  signal: 'connector_crashed',
  pattern: /(?:pool|cache|allocator)\w* (?:memory )?leak detected/i,
};

/** NIXL: "createBackend: unsupported backend 'UCX'", "Skipping backend registration UCX due to the missing plugin." Other errors of createBackend are of a plugin that is there. */
const MISSING_PLUGIN =
  /(?:getPluginParams|createBackend): (?:unsupported backend '(\w{1,30})'|backend '(\w{1,30})' not found)|backend registration (\w{1,30}) due to the missing plugin|NIXL backend '(\w{1,30})' not found/;

/** A library is not installed, or its version does not belong to the engine's. */
const LIBRARY: readonly FaultClass[] = [
  {
    signal: 'library_missing',
    pattern: new RegExp(`No module named '(?:\\w+\\.)*(?:${LIBRARIES})(?:\\.[\\w.]+)?'`),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(`\\b(?:${LIBRARIES})\\b[\\w ]{0,40}(?:is|are) not (?:available|installed)`),
  },
  // The whole text of an exception: "Mooncake not available", "lmcache could not be imported: …".
  {
    signal: 'library_missing',
    pattern: new RegExp(
      `^(?:The )?['"\`]?(?:${LIBRARIES}|yuanrong|[Dd]atasystem)(?:[ -](?:transfer|engine|store|library|package|module)){0,2}['"\`]? (?:(?:could|can) ?not be (?:imported|loaded|found)|(?:is |was |are )?(?:not |un)(?:available|installed|found))\\b`,
    ),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(`Please install (?:the )?(?:${LIBRARIES})\\b`, 'i'),
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(
      `(?:lib[\\w-]*(?:${LIBRARIES}|etcd|jsoncpp)[\\w.-]*so[\\d.]*: (?:cannot open|undefined symbol)|^lib(?:cufile\\w*|ascend\\w*|hccl\\w*|glog|gflags|efa)\\.so[\\d.]*: cannot open|(?:${LIBRARIES})[\\w./-]*\\.so[\\d.]*: undefined symbol)`,
    ),
  },
  // "undefined symbol: _ZN12nixlDescListI12nixlBlobDescEC1ERK10nixl_mem_tRKbRKi", whatever asks for it: a NIXL or UCX of another version is loaded.
  {
    signal: 'library_missing',
    pattern: /undefined symbol: (?:_Z\w{0,60}?\d(?:nixl[A-Z_])|uc[pst]m?_[a-z]|ibv_[a-z])\w{2}/,
  },
  // "UCP API version is incompatible: required >= 1.18, actual 1.16.0 (loaded from /lib/x86_64-linux-gnu/libucp.so.0)".
  {
    signal: 'library_missing',
    pattern:
      /UC[PXST] (?:API |library )?version (?:is |of .{0,20})?(?:incompatible|mismatch|too old)|requires (?:mooncake|nixl|lmcache|ucx|libfabric)[\w-]* ?(?:[<>=!~]=|version)|please upgrade (?:Mooncake|NIXL|LMCache|UCX)\b|\bNIXL is required .{0,120}install|requires the NIXL package|\b[Ii]nstall (?:the )?[`'"]?(?:mooncake|nixl|lmcache|flexkv)[\w-]*[`'"]? (?:package|with \w+ support|to (?:use|enable))/i,
  },
  // vLLM from 0.33 on: "NIXL >= 1.5.0 is required, but nixl==1.4.1 is installed".
  {
    signal: 'library_missing',
    pattern: new RegExp(`\\b(?:${LIBRARIES})[\\w-]* ?[<>=!~]=? ?v?\\d[\\w.+]* is required\\b`),
  },
  {
    signal: 'library_missing',
    pattern:
      /NIXL backend '\w{1,30}' not found|UCX wrapper library is not open|Unable to load UCX wrapper|failed to load plugin from|plugin .{0,40}(?:UCX|LIBFABRIC|GDS|Mooncake)\w* (?:is )?not (?:found|loaded)/i,
  },
  {
    signal: 'library_missing',
    pattern: new RegExp(
      `cannot import name '\\w{1,80}' from '(?:dynamo\\.(?:llm|_core|runtime)|vllm\\.distributed\\.(?:kv|ec)_|vllm\\.v1\\.(?:kv|core)|sglang\\.srt\\.(?:mem_cache|disaggregation)|${LIBRARIES})`,
    ),
  },
  {
    signal: 'library_missing',
    pattern:
      /(?:LMCache|Nixl|nixl_agent|Mooncake|FlexKV|UCM|PegaKV|AIBrix|KVConnector|Kvbm|DynamoConnector|Remote(?:Prefill|Decode)(?:Request|Params)|KVTransferParams)\w*'? (?:object |class )?has no attribute|Method '\w*(?:nixl|kv_|kv_connector|kv_transfer)\w*' is not implemented|has no attribute '\w*(?:nixl_metadata|nixl_agent|remote_prefill|remote_nixl)\w*'|'builtins\.(?:Client|Component|DistributedRuntime|Endpoint|Kv\w{1,40}|Namespace)' object has no attribute|(?:LMCache|Nixl|nixl_agent|Mooncake|FlexKV|UCM|PegaKV|AIBrix|KVConnector|Dynamo)\w*(?:\.\w+)?\(\) (?:got an unexpected keyword|missing \d|takes )|Unsupported connector type: |^.{0,40}Connector '?\w+'? is not registered/,
  },
];

/** The fault that a sentence of an error names; undefined where it names none of the classes. */
export function faultOf(sentence: string): Fault | undefined {
  const room = roomFaultOf(sentence);
  if (room !== undefined) return { signal: 'cache_memory_missing', value: room };
  for (const { signal, pattern, value } of [LEAK, ...LIBRARY]) {
    if (pattern.test(sentence)) return { signal, value: value ?? plain(sentence) };
  }
  const id = pathFaultIn(sentence);
  return id === undefined ? undefined : { signal: 'transfer_path_broken', value: pathFaultSays(id) };
}

/** A library that a line of NIXL or UCX misses; undefined where it misses none. */
export function missingLibraryOf(line: string): Fault | undefined {
  const [, plugin] = MISSING_PLUGIN.exec(line)?.filter((group) => group !== undefined) ?? [];
  return plugin === undefined
    ? undefined
    : { signal: 'library_missing', value: `NIXL has no plugin for ${plugin}` };
}

/** A sentence in one line, cut behind a word where it is long: half of a flag would be the name of none. */
export function plain(sentence: string): string {
  const whole = sentence.replace(/\s+/g, ' ').trim();
  if (whole.length <= MAX_SENTENCE_CHARS) return whole;
  const line = whole.replace(/\/(?:[\w.+-]{1,80}\/){1,12}(?=(?:site|dist)-packages\/)/g, '…/');
  if (line.length <= MAX_SENTENCE_CHARS) return line;
  const kept = shortenedBeforeAdvice(line, MAX_SENTENCE_CHARS);
  if (kept.includes(' …; ')) return kept;
  const end = line.lastIndexOf(' ', MAX_SENTENCE_CHARS);
  // A part of the symbol says whose it is.
  if (line.slice(0, end).endsWith('undefined symbol:')) return line.slice(0, MAX_SENTENCE_CHARS);
  return line.slice(0, end > 0 ? end : MAX_SENTENCE_CHARS);
}
