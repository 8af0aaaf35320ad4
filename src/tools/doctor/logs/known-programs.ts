import type { CleanLine } from './clean-line.js';
import { isPickerRecord } from './picker-rules.js';

/** Programs beside engines and Dynamo that lines are recognised of. */
export type ProgramWord =
  | 'llm-d'
  | 'aibrix'
  | 'smg'
  | 'vllm-router'
  | 'production-stack'
  | 'kthena'
  | 'ray-serve'
  | 'mooncake-store'
  | 'lmcache-server'
  | 'kv-store'
  | 'controller'
  | 'redis'
  | 'etcd'
  | 'nats'
  | 'envoy'
  | 'nccl';

/** A program that no engine runs in, and what it says of prefixes. */
export interface KnownProgram {
  readonly word: ProgramWord;
  /** As the report names it. */
  readonly name: string;
  /**
   * `store`: keeps blocks or says where they are; `controller`: sees to pods and routes, and to no prompt; `server`: keeps or
   * passes on what others say; `library`: writes into the logs of engines.
   */
  readonly role: 'router' | 'store' | 'controller' | 'server' | 'library';
  /** Where a router shows whether it finds prefixes: metrics and lines. */
  readonly hits?: string;
  /** Where a router shows whether KV events arrive; absent for one that reads none. */
  readonly events?: string;
  /** What to add to the command for that. */
  readonly ask?: string;
  /** The same where its metrics were given; absent where they show it once requests have come. */
  readonly askBesidePage?: string;
}

interface RecognisedProgram extends KnownProgram {
  /** The form of its lines that no other program's have. */
  readonly isOwn: (text: string, fields: CleanLine['fields']) => boolean;
}

const HEAD_CHARS = 400;
const TAIL_CHARS = 200;

/** In the order in which lines are compared. */
const PROGRAMS: readonly RecognisedProgram[] = [
  {
    word: 'llm-d',
    name: "llm-d's endpoint picker",
    role: 'router',
    hits: '/metrics of the picker (port 9090: llm_d_epp_prefix_indexer_hit_ratio, kvcache_index_lookup_hits_total; inference_extension_prefix_indexer_hit_ratio in older versions) shows it, or its log at --v=4',
    events:
      'llm_d_epp_kv_cache_events_messages_received_total and kvcache_index_admissions_total on /metrics of the picker show it',
    ask: 'Add the metrics of the picker to this command (kubectl port-forward POD 9090): --metrics http://localhost:9090/metrics',
    isOwn: (_text, fields) => fields !== undefined && isPickerRecord(fields),
  },
  {
    word: 'aibrix',
    name: "AIBrix's gateway",
    role: 'router',
    hits: '/metrics of the gateway plugin (port 8080: aibrix_prefix_cache_routing_decisions_total) shows it, or its log at -v=4 ("prefix_cache_matched_pods")',
    events:
      'aibrix_kvcache_zmq_events_processed_total on /metrics of the gateway plugin shows it, where AIBRIX_PREFIX_CACHE_KV_EVENT_SYNC_ENABLED=true',
    ask: 'Add the metrics of the gateway plugin to this command (kubectl port-forward POD 8080): --metrics http://localhost:8080/metrics',
    isOwn: (text) =>
      /AIBRIX_[A-Z]|\b(?:zmq_client|prefix_cache\w*|gateway_re[qs]\w*|pd_disaggregation|hash)\.go:\d+\] (?!.*\bkthena)/.test(
        text,
      ),
  },
  {
    word: 'smg',
    name: 'the gateway of SGLang (sgl-router, smg)',
    role: 'router',
    hits: 'smg_engine_cache_hit_rate (newer versions) or sgl_router_cache_hits_total and sgl_router_cache_misses_total (older ones) on its /metrics (port 29000) show it, or its log at --log-level debug',
    events:
      'smg_kv_event_subscription_failures_total on its /metrics shows what fails; without --kv-events it guesses by what it sent where',
    ask: 'Add the metrics of the gateway to this command: --metrics http://GATEWAY:29000/metrics',
    askBesidePage: 'Add the log of the gateway at --log-level debug, under load: --logs GATEWAY.log',
    isOwn: (text) => /\b(?:sglang_router_rs|sgl_model_gateway|smg)::/.test(text),
  },
  {
    word: 'vllm-router',
    name: 'vllm-router',
    role: 'router',
    hits: 'vllm_router_cache_hits_total and vllm_router_cache_misses_total on its /metrics (port 29000) show it, or its log at --log-level debug',
    ask: 'Add the metrics of the router to this command: --metrics http://ROUTER:29000/metrics',
    isOwn: (text) => /\bvllm_router_rs::/.test(text),
  },
  {
    word: 'production-stack',
    name: "the router of vLLM's production stack",
    role: 'router',
    hits: 'its log shows it for --routing-logic kvaware ("found by kvaware router" of each hit, at level info); its /metrics have the hit rates of the engines (vllm:gpu_prefix_cache_hit_rate{server=…})',
    ask: 'Run the router with --routing-logic kvaware --log-level debug and give its log under load, or add its metrics: --metrics http://ROUTER:8001/metrics',
    askBesidePage:
      'Run the router with --routing-logic kvaware --log-level debug, and add its log under load: --logs ROUTER.log',
    isOwn: (text) => /\(\w+\.py:\d+:vllm_router\.[\w.]+\)/.test(text),
  },
  {
    word: 'kthena',
    name: "kthena's router",
    role: 'router',
    hits: 'its log at -v=4 shows the scores of its prefix-cache plugin',
    ask: 'Give the log of the router at -v=4, under load: --logs ROUTER.log',
    isOwn: (text) => /\bkthena-router\b/.test(text),
  },
  {
    word: 'ray-serve',
    name: 'Ray Serve',
    role: 'router',
    hits: 'no metric of Ray Serve shows it: its prefix-aware router guesses by the text of prompts; the hit rates of the engines do',
    ask: 'Add the metrics of an engine to this command: --metrics http://ENGINE:PORT/metrics',
    isOwn: (text) =>
      /\((?:ServeController|ProxyActor|ServeReplica:\S{1,120}) pid=\d+|PrefixCacheAffinityRouter/.test(text),
  },
  {
    word: 'mooncake-store',
    name: "Mooncake's master or metadata server",
    role: 'store',
    isOwn: (text) =>
      /\b(?:master|master_service|rpc_service|master_metric_manager|http_metadata_server)\.cpp:\d+\]|HTTP Metadata Server started|mooncake_(?:master|http_metadata_server)\b/.test(
        text,
      ),
  },
  {
    word: 'lmcache-server',
    name: "LMCache's server or controller",
    role: 'store',
    isOwn: (text) =>
      /\(\S{1,60}\.py:\d+:lmcache\.(?:v1\.)?(?:server|cache_controller|api_server)\b/.test(text),
  },
  {
    word: 'kv-store',
    name: 'InfiniStore or Vineyard',
    role: 'store',
    isOwn: (text) => /\[infini\] \[\w+\]|\bvineyardd\b/.test(text),
  },
  {
    word: 'controller',
    name: 'a Kubernetes controller',
    role: 'controller',
    isOwn: (text, fields) =>
      fields === undefined
        ? /^\d{4}-\d\d-\d\dT\S+\s+(?:DEBUG|INFO|ERROR)\s+(?:controller[\w.-]*|setup|envoy-gateway[\w.-]*)\s/.test(
            text,
          )
        : typeof fields['controllerKind'] === 'string' || typeof fields['reconcileID'] === 'string',
  },
  {
    word: 'redis',
    name: 'Redis or Valkey',
    role: 'server',
    isOwn: (text) => /^\d{1,7}:[XCSM] \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d/.test(text),
  },
  {
    word: 'etcd',
    name: 'etcd',
    role: 'server',
    isOwn: (_text, fields) =>
      /^(?:etcd\w*|embed|mvcc|raft|rafthttp|v3rpc|membership|auth|wal|backend|lease|lessor|snap|transport|traceutil|schema)\/\w+\.go:\d/.test(
        String(fields?.['caller'] ?? ''),
      ),
  },
  {
    word: 'nats',
    name: 'NATS',
    role: 'server',
    isOwn: (text) =>
      /^\[\d{1,7}\] \d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? \[(?:INF|WRN|ERR|DBG|TRC|FTL)\] /.test(
        text,
      ),
  },
  {
    word: 'envoy',
    name: 'Envoy',
    role: 'server',
    isOwn: (text) =>
      /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]\[\d{1,7}\]\[\w{1,12}\]\[[\w-]{1,40}\]|^\[\d{4}-\d\d-\d\dT[\d:.]{8,20}Z\] "[A-Z]{3,7} \S{1,200} HTTP\//.test(
        text,
      ),
  },
  {
    word: 'nccl',
    name: 'NCCL',
    role: 'library',
    isOwn: (text) => /^[\w.-]{1,120}:\d{1,9}:\d{1,9} \[\d{1,3}\] NCCL [A-Z]{4,6} /.test(text),
  },
];

const BY_WORD: ReadonlyMap<string, KnownProgram> = new Map(
  PROGRAMS.map((program) => [program.word, program]),
);

/** The program that writes such a line; undefined for engines, Dynamo, and what is not known. */
export function knownProgramOf(whole: string, fields: CleanLine['fields']): ProgramWord | undefined {
  // Programs name themselves and their files at the beginning of a line or at its end.
  const text =
    whole.length <= HEAD_CHARS + TAIL_CHARS
      ? whole
      : `${whole.slice(0, HEAD_CHARS)} ${whole.slice(-TAIL_CHARS)}`;
  return PROGRAMS.find(({ isOwn }) => isOwn(text, fields))?.word;
}

/** What is known of a program by its word; undefined for another word. */
export function knownProgram(word: string): KnownProgram | undefined {
  return BY_WORD.get(word);
}
