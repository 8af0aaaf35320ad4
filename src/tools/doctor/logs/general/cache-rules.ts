import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { DISK_FULL } from './disk-full.js';
import { isErrorOfGlog, isWarningOfGlog } from './glog.js';
import { unresolvedStoreOf } from './name-rules.js';
import { NIXL_STORAGE_FILES, nixlStorageFaultOf, OBJECT_CALL } from './nixl-storage.js';
import { pathFaultValue } from './seen-path-faults.js';
import { STORE_FILES } from './source-files.js';
import { isUnregistered, storeCodeFaultOf, storeFaultOf, storeWarningOf } from './store-faults.js';

/** What a line of one cache is a sign of; undefined where nothing is wrong. */
type FaultOf = (text: string) => string | undefined;

/**
 * Lines of caches and stores behind engines that fail, whichever engine uses them: Mooncake's store, InfiniStore,
 * Vineyard, AIBrix's KVCache, HiCache's storage backends, KVBM, FlexKV, the pools of vllm-ascend, vLLM's own host cache.
 * A miss, an eviction and a connection that comes back are none.
 */
export const CACHE_RULES: readonly LogRule[] = [
  ...STORE_FILES.map((needle) =>
    cache(needle, (text) => {
      if (OBJECT_CALL.test(text)) return undefined;
      if (isErrorOfGlog(text)) return isUnregistered(text) ? undefined : storeFaultOf(text);
      return isWarningOfGlog(text) ? storeWarningOf(text) : undefined;
    }),
  ),
  ...NIXL_STORAGE_FILES.map((needle) =>
    cache(needle, (text) => (isErrorOfGlog(text) ? nixlStorageFaultOf(text) : undefined)),
  ),
  // Memory that a card does not take is a fault of the machine, whichever file of the store says so.
  ...['register_local_memory_failed', 'Failed to register local memory'].map((needle) =>
    rule(needle, (line, found) => {
      if (!isErrorOfGlog(line.text)) return;
      const value = pathFaultValue('memory', 'mooncake');
      found.addSignal('transfer_path_broken', line, { value, about: needle });
    }),
  ),
  // Its library for calls, in a form of its own: "2025-06-06 09:39:00.285457 ERROR    [382] [coro_rpc_client.hpp:923] client has been closed, please re-connect".
  cache('] client has been closed, please re', (text) =>
    text.includes('[coro_rpc_client') ? storeFaultOf(text) : undefined,
  ),
  // LMCache: "batch_get_into failed for key vllm@model@1@0@9bc7f366 (code=-800)".
  cache('batch_get_into failed for key', storeCodeFaultOf),
  cache('Initialize mooncake failed', () => 'Mooncake is not reached'),
  cache('Launch mooncake store server timeout', () => 'Mooncake is not reached'),
  // "[2025-05-15 15:48:41.233] [infini] [error] [libinfinistore.cpp:910] Please register memory first".
  cache('] [infini] [', infiniStoreFaultOf),
  cache(' to infinistore, ret = ', () => 'InfiniStore does not move its blocks'),
  // "[info] Connection to RPC socket failed for endpoint HOST:9600 with ret = …, retrying 7 more times.": ten attempts.
  cache(' socket failed for ', (text) => {
    const left = /Connection to RPC socket failed for .{1,300}retrying (\d{1,3}) more times/.exec(text)?.[1];
    return left !== undefined && Number(left) <= MOST_ATTEMPTS_LEFT ? 'Vineyard is not reached' : undefined;
  }),
  cache('Failed to connect to vineyard', () => 'Vineyard is not reached'),
  // "Failed to put to offloading service: Status(error_code=StatusCodes.ERROR, value=…)", of AIBrix 0.3 to 0.8.
  cache(' offloading service: ', aibrixFaultOf),
  cache('Failed to write to l2_cache, error: ', aibrixFaultOf),
  cache('Failed to register slabs w/ connection', () => "AIBrix's store does not have its memory registered"),
  cache(' exceeds bounce buffer capacity', (text) => {
    const most = /capacity \(?(\d{1,9})/.exec(text)?.[1];
    const program = /HiCache/i.test(text) ? 'HiCache' : 'KVBM';
    return `${program} moves more blocks at a time than its buffer has (${most ?? 'see the line'})`;
  }),
  cache('HiCacheFile: ', (text) =>
    /would fall below min_free|no evictable space|exceeds cap /.test(text)
      ? 'HiCache has no room on its disk'
      : undefined,
  ),
  cache('HiCacheHF3FS ', (text) =>
    / failed\b|mismatch/.test(text) ? 'HiCache does not read or write 3FS' : undefined,
  ),
  cache('KV subtree dropped without backup due to host memory', () => 'HiCache has no room'),
  cache('Failed to attach storage backend', (text) => {
    const reason = /Failed to attach storage backend (.{1,120})/.exec(text)?.[1];
    return `HiCache runs without its storage: ${reason ?? 'the lines after it say why'}`;
  }),
  cache('fail to init eic client', () => 'EIC is not reached'),
  // The plugins of NIXL for GPUDirect Storage; codes of cuFile are 5000 and more.
  cache('file register error: error=', (text) => {
    const code = /error=(\d{4})/.exec(text)?.[1];
    return `GPUDirect Storage refuses the files of a disk cache${code === undefined ? '' : ` (cuFile error ${code})`}`;
  }),
  cache('block_manager::distributed::transfer: ', (text) =>
    /fail|error/i.test(text) ? 'KVBM does not move its blocks' : undefined,
  ),
  // Its other modules: "ERROR kvbm::block_manager::vllm::connector::leader::slot: LocalOnboardTask: error processing request: …".
  // In lines of JSON the level and the module stand behind the message.
  ...['kvbm::block_manager', 'dynamo_llm::block_manager', 'kvbm_engine::', 'kvbm_physical::'].map((needle) =>
    cache(needle, (text) => {
      const message = text.replace(/ level=ERROR .*$/s, '');
      const isError = message !== text || /\bERROR\b/.test(text);
      return isError && KVBM_MOVES.test(message) && !KVBM_PASSING.test(message)
        ? 'KVBM does not move its blocks'
        : undefined;
    }),
  ),
  cache('KVBM slot desync', () => 'KVBM is out of step with the engine'),
  cache('Skipping KVBM offload', () => 'KVBM is out of step with the engine'),
  cache('[KVTaskEngine] task ', (text) =>
    text.includes('FAILED') ? 'FlexKV does not move its blocks' : undefined,
  ),
  cache('Failed to connect to master transfer manager', () => 'FlexKV is not reached'),
  ...['[FlexKV] retrieve_kv: task ', '[FlexKV] get_match raised', '[FlexKV] put_match raised'].map((needle) =>
    cache(needle, () => 'FlexKV does not move its blocks'),
  ),
  // vLLM's own host cache, as a burst of requests fills it: "Request 553: cannot store 1 blocks".
  cache(': cannot store ', (text) =>
    /\bRequest \S{1,120}: cannot store \d{1,9} blocks/.test(text)
      ? "vLLM's host cache has no room"
      : undefined,
  ),
  // Its tier of files: "Job 12 block I/O failed: [Errno 28] No space left on device".
  cache(' block I/O failed: ', (text) => {
    if (!/\bJob \S{1,40} block I\/O failed/.test(text)) return undefined;
    return DISK_FULL.test(text)
      ? "vLLM's disk cache has no room on its disk"
      : 'vLLM cannot use its folder on disk';
  }),
  // vllm-ascend: "Failed to put 12 keys out of 12. error_codes=[-1]. Check memory and store capacity."
  cache('Check memory and store capacity', () => "Ascend's KV pool has no room"),
  ...[
    'Check network and remote store',
    'Check network and yuanrong service',
    'Check store state and network',
  ].map((needle) => cache(needle, () => "Ascend's KV pool is not reached")),
  cache('Check block availability and memory state', () => "Ascend's KV pool gives less than it lists"),
  ...['NOAUTH Authentication required', 'WRONGPASS invalid username'].map((needle) =>
    cache(needle, () => 'Redis refuses the password'),
  ),
];

/** Of ten attempts three have failed. */
const MOST_ATTEMPTS_LEFT = 8;

/** What KVBM's modules say of blocks that they did not bring to another tier or back. */
const KVBM_MOVES =
  /(?:^|: ).{0,80}?(?:onboard|offload|transfer)\w{0,12}\b.{0,60}?(?:\berror\b|\bfail)|(?:^|: ).{0,40}?(?:\berror\b|\bfail)\w{0,3} .{0,60}?\b(?:onboard|offload|transfer|block to object storage)/i;

/** What its parts say to each other as one of them ends. */
const KVBM_PASSING = /cancel|drop|shut|closed|\bsend|notification|consolidat/i;

function cache(needle: string, faultOf: FaultOf): LogRule {
  return rule(needle, (line, found) => {
    const value = unresolvedStoreOf(line.text) ?? faultOf(line.text);
    if (value !== undefined) found.addSignal('offload_failed', line, { value, about: needle.trim() });
  });
}

const INFINISTORE: readonly (readonly [fault: string, pattern: RegExp])[] = [
  [
    'InfiniStore does not have the memory of the engine registered',
    /register (?:memory|MR|slabs)|Pointer out of range/i,
  ],
  [
    'InfiniStore cannot use its network device',
    /RDMA (?:device|resources|context)|default device|\bGID\b|link (?:layer|type)|query port|modify QP|create (?:QP|CQ|completion)|allocate PD/i,
  ],
  ['InfiniStore has no room', /allocate memory|out of memory|no space/i],
  [
    'InfiniStore is not reached',
    /connect|connection|socket|(?:send|receive) (?:header|local|remote|return|payload)|Invalid address/i,
  ],
];
/** Signals by which a fault ends a program: 2 and 15 are someone who stops it. */
const CRASH = /Interrupt signal \((?:4|6|7|8|11)\) received/;

function infiniStoreFaultOf(text: string): string | undefined {
  if (CRASH.test(text)) return "InfiniStore's server ended by a fault of its own";
  if (!/\[(?:error|critical)\]/.test(text) || text.includes('Stacktrace')) return undefined;
  return INFINISTORE.find(([, pattern]) => pattern.test(text))?.[0] ?? 'InfiniStore does not move its blocks';
}

function aibrixFaultOf(text: string): string | undefined {
  const [, code] = /StatusCodes\.(\w{1,30})/.exec(text) ?? [];
  if (code === undefined || /NOT_FOUND|DENIED|CANCELLED|OK/.test(code)) return undefined;
  if (code === 'OUT_OF_MEMORY') return "AIBrix's KVCache has no room";
  if (code === 'TIMEOUT') return "AIBrix's KVCache answers too late";
  return /regist/i.test(text)
    ? "AIBrix's store does not have its memory registered"
    : "AIBrix's KVCache does not move its blocks";
}
