import { type Fault, plain } from './fault-classes.js';

const SUBJECT =
  /\b(?:(?:(?:gpu|hash|kv|cpu|host|page|group|offloaded|attention|attn|mamba|scheduler|logical|physical|kernel)_)?block[_ -]?size|blocks_per_chunk|page[_ -]?size|kv[_ -]?cache|kv[_ ](?:cache_)?layout|kv[_-]?offload\w*|prefix[_ -]?cach\w*|hi-?cache|hierarchical[_ -]cache|radix|kv[_ -]?connector\w*|KVConnector|\w*Connector(?:V1)?|kv[_-]transfer\w*|kv[_-]events?\w*|kv_role|kv[_-]router\w*|router[_-]mode|disaggregat\w*|PD|hybrid|tokens_per_block|block reuse|enable_block_reuse|chunk_size|cpu_bytes_to_use|cache_transceiver\w*|cacheTransceiver\w*|transceiver|mamba[_ -](?:cache|backend|block|ssu)\w*|(?:decode|prefill)[_ -]context[_ -]parallel\w*|[DP]CP|cp[_-]kv[_-]cache\w*|ec[_-](?:connector|role|transfer)\w*|EC (?:connector|producer|consumer)\w*|(?:cross_)?encoder[_ ]cache\w*|Re(?:play|cover)SSM|conv state layout|state layout|custom_mem_pool|naive serde|max_num_batched_tokens|max_num_tokens)\b/i;
const DEMAND =
  /\b(?:must|no common|failed to (?:convert|promote|unify)|not (?:yet )?support(?:ed|s)?|(?:does|do|is|are)(?: not|n'?t) (?:currently )?(?:support\w*|compatible|allowed|enabled|valid|set)|only (?:support\w*|works?|valid)|requires?|required|incompatible|invalid|divisible|multiple of|cannot be|can'?t be|unsupported|should (?:not )?be|(?:is|are) (?:smaller|less) than|need(?:s)? to be|unknown|unrecognized|specify only one|please (?:set|use|pass|check|add|remove|enable|disable)|conflicts?|mutually exclusive)\b/i;
/** A part that moves or keeps KV blocks, which says what it takes. */
const PART =
  /\b(?:nixl|mooncake|lmcache|moriio|flexkv|kvbm)\b.{0,160}\b(?:requires?|not supported|does not (?:yet )?support|only supports?|only supported|incompatible|mutually exclusive)\b|\b(?:requires?|only supported|not supported|incompatible|mutually exclusive)\b.{0,80}\b(?:nixl|mooncake|lmcache|moriio|flexkv|kvbm)\b/i;
/** A class of an engine that says what it takes: "HiRadixCache only supports MHA and MLA yet". */
const CLASS =
  /\b(?:[A-Z]\w*(?:Cache|Connector|CacheManager|CacheController|OffloadingSpec)|host_pool)\b (?:only supports?|does(?: not|n'?t) (?:yet )?support)\b/;
/** A setting that another one needs: "controller_pull_url is required when enable_controller=True". */
const NEEDED =
  /\b[a-z]+_[a-z_]+ (?:(?:is|are) required .{0,40}\bwhen [a-z]+_[a-z_]+ ?==? ?\w|must be set when [a-z]+_[a-z_]+ is )/;
/** A key of LMCache's configuration, and what its checks say of it: "Need to specify gds_path for GdsBackend", "pd_role is not set". */
const LMCACHE_KEY =
  /\b(?:extra_config\['([\w.]{3,60})'\]|((?:max_|reserve_)?local_(?:cpu|disk)(?:_size)?|remote_(?:url|serde)|(?:gds|weka|maru)_(?:path|backend|buffer_size|pool_size)|(?:pd|p2p)_(?:buffer_size|buffer_device|role|host|peer_\w{4,20}|proxy_\w{4,5}|init_ports|lookup_ports)|nixl_(?:buffer_size|buffer_device|backends|pool_size|path|role|receiver_\w{4,6})|save_(?:unfull_chunk|decode_cache)|audit_actual_remote_url|max_hidden_state_cpu_size)\b)/;
const LMCACHE_DEMAND = /\bNeed to specify\b|\bnot set\b|\bsmaller than\b|\bshould be set\b|\bmust be\b/;
/** A flag that a sentence begins with, or that it says to set: "--a and --b must be provided together", "is required (set --a or A)". */
const OF_FLAG =
  /^(?:Cannot (?:specify|use|combine) (?:both )?)?--[a-z][\w-]{2,60}|\b(?:required \(set|must be set via) --[a-z]/;
const FLAG_DEMAND =
  /^Cannot |\bno longer supported\b|\binvalid value\b|\bmust be provided together\b|\bneeds (?:an? |the |--)|\b(?:can )?only (?:be )?(?:used|supports?|works?|valid|for|with)\b/;
/** A setting by its name, with those of its values that are known: "Invalid event_plane value 'zeromq'. Valid values: 'nats', 'zmq'". */
const OF_VALUES =
  /\b(?:Invalid|Unknown|Unsupported) [A-Za-z]\w{1,40}_\w{1,60}(?: value)?:? '[^']{1,60}'[.;,] (?:Valid|Supported|Allowed) (?:values|options|choices)(?: are)?: /;
/** What one request has wrong, what two engines differ in (read by rules of its own), and what is no word of a program. */
const NOT_SETTINGS =
  /\b(?:bootstrap_room|room|req(?:uest)?_?id|request|prompt|messages?|remote|peer|prefill server|prefill_result|disaggregated[ _]params|compatibility hash|lookup response|sampling|tool|json_schema|grammar|http|bug|should (?:not|never) be called)\b/i;
/** A variable that an error says to set: "Set VLLM_SSM_CONV_STATE_LAYOUT=DS". */
const VARIABLE =
  /\b(?:[Ss]et(?:ting)?|export|requires?|needs?) ((?:VLLM|SGLANG|NIXL|UCX|LMCACHE|MOONCAKE|MC|DYN|TRTLLM)_[A-Z0-9_]{2,60}=[\w.,:/-]{1,60})/;

/** Settings that a program refuses, by what it demands of them. */
export function refusalOf(sentence: string): Fault | undefined {
  if (OF_FLAG.test(sentence) && (DEMAND.test(sentence) || FLAG_DEMAND.test(sentence)))
    return { signal: 'settings_refused', value: plain(sentence) };
  if (OF_VALUES.test(sentence)) return { signal: 'settings_refused', value: plain(sentence) };
  if (NOT_SETTINGS.test(sentence)) return undefined;
  const isRefusal =
    (SUBJECT.test(sentence) && DEMAND.test(sentence)) ||
    (LMCACHE_KEY.test(sentence) && (DEMAND.test(sentence) || LMCACHE_DEMAND.test(sentence))) ||
    [PART, CLASS, NEEDED].some((pattern) => pattern.test(sentence));
  if (!isRefusal && !VARIABLE.test(sentence)) return undefined;
  return { signal: 'settings_refused', value: plain(sentence) };
}

/** A key of LMCache's configuration, and what a sentence demands of it. */
export interface DemandedKey {
  readonly name: string;
  /** Under `extra_config`. */
  readonly isExtra: boolean;
  /** Empty where the sentence names none. */
  readonly value: string;
  /** `out`: it has to go; `in`: it is missing; otherwise it is wrong. */
  readonly how: 'in' | 'out' | 'wrong';
}

/** The key of LMCache's configuration that a sentence speaks of; undefined where it has none. */
export function lmcacheKeyIn(sentence: string): DemandedKey | undefined {
  const advised = /\(set ([a-z][a-z_]{3,40})\b(?: > 0)?\)/.exec(sentence)?.[1];
  if (advised !== undefined) return { name: advised, isExtra: false, value: '', how: 'in' };
  const match = LMCACHE_KEY.exec(sentence);
  if (match === null) return undefined;
  const behind = sentence.slice(match.index + match[0].length);
  const value = /^ (?:should|must) be (?:set to )?(True|False)\b/.exec(behind)?.[1]?.toLowerCase() ?? '';
  const isMissing =
    /^ (?:is not set|is required|must be (?:set|provided|specified|configured)\b)/.test(behind) ||
    /Need to specify $/.test(sentence.slice(0, match.index));
  const how = /^ must not be set/.test(behind) ? 'out' : isMissing || value !== '' ? 'in' : 'wrong';
  return { name: match[1] ?? match[2] ?? '', isExtra: match[1] !== undefined, value, how };
}

/** What a line says that calls a configuration invalid: "Invalid configuration: chunk_size must be a multiple of 16". */
export function refusedConfiguration(line: string): string | undefined {
  const sentence = /\b[Ii]nvalid (?:[\w.]{1,40} )?config(?:uration)?: (.{5,300})/.exec(line)?.[1];
  return sentence === undefined ? undefined : refusalOf(sentence)?.value;
}

/** Whether a sentence demands something, and not of one request. */
export function demandsOfSettings(sentence: string): boolean {
  return DEMAND.test(sentence) && !NOT_SETTINGS.test(sentence);
}

/** The variable with its value that a sentence says to set; undefined where it names none. */
export function advisedVariable(sentence: string): string | undefined {
  return VARIABLE.exec(sentence)?.[1]?.replace(/[.,:]$/, '');
}
