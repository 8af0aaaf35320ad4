/**
 * Lines of logs as programs write them, for the bench of the log reader. Each
 * kind is one extreme: what nearly every line of such a log is.
 */
export interface LogKind {
  readonly name: string;
  /** The lines of one request, from its number. */
  readonly lines: (at: number) => string[];
}

const WORKERS = ['7702713015953616', '4467334888485367', '14890345699382878635', '5539562917135802437'];

const START_MS = Date.UTC(2026, 1, 16, 14, 38, 53);

function isoOf(at: number): string {
  return new Date(START_MS + at * 5).toISOString();
}

/** Dynamo: `2026-02-16T14:38:53.950123Z  INFO …`. */
function dynamo(at: number, texts: readonly string[]): string[] {
  const time = isoOf(at).replace('Z', '123Z');
  return texts.map((text) => `${time}  ${text}`);
}

function selected(at: number): string {
  return `INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=${workerOf(at)} dp_rank=0, logit: ${scattered(at) % 300}.656, cached blocks: ${scattered(at) % 3}, tree size: ${at}`;
}

function engineStats(at: number): string {
  const [time, much] = [isoOf(at).slice(5, 19).replace('T', ' '), scattered(at)];
  return `INFO ${time} [loggers.py:215] Engine 000: Avg prompt throughput: ${much % 900}.3 tokens/s, Avg generation throughput: ${much % 90}.0 tokens/s, Running: ${much % 40} reqs, Waiting: ${much % 5} reqs, GPU KV cache usage: ${much % 100}.1%, Prefix cache hit rate: ${much % 90}.5%`;
}

/** All kinds, from the engines' and routers' busiest lines to lines that no rule is for. */
export const LOG_KINDS: readonly LogKind[] = [
  { name: 'decisions alone (Dynamo 0.9)', lines: (at) => dynamo(at, [selected(at)]) },
  {
    name: 'requests and warnings (Dynamo 1.6)',
    lines: (at) => {
      const [own, http, worker] = [idOf(at), idOf(at + 1e9), workerOf(at)];
      const call = `method=POST uri=/v1/chat/completions version=HTTP/1.1 request_id=${http} model="tiny"`;
      const end = `input_tokens=4044 output_tokens=2 image_count=0 video_count=0 audio_count=0 ttft_ms="88.38" avg_itl_ms="6.33" prefill_worker_id=${worker} decode_worker_id=${worker} request.outcome="success"`;
      return dynamo(at, [
        `INFO http-request: dynamo_llm::http::service::metrics: request received request_id=${own} model=tiny endpoint=chat_completions request_type=unary ${call}`,
        `INFO dynamo_kv_router::scheduling::selector: Selected worker router_mode="kv" request_id="${own}" worker_id=${worker} worker_type=decode dp_rank=0 logit=252.375 host_pinned_blocks=0 disk_blocks=0`,
        `INFO http-request:kv_router.route_request: request_span: route request completed request.outcome="success" ${call} otel.kind="client" request_id=${own} dp_rank=0 overlap_blocks=${scattered(at) % 100} phase=Aggregated worker_id=${worker} request.attempt=0`,
        `INFO http-request: dynamo_llm::http::service::metrics: request completed request_id=${own} model=tiny endpoint=chat_completions request_type=unary status=success elapsed_ms=95 ${call} ${end}`,
        `INFO http-request: dynamo_llm::http::service::service_v2: http response sent status=200 latency_ms=95 ${call} ${end}`,
        `WARN dynamo_kv_router::indexer::radix_tree: Failed to find parent block; skipping store operation worker_id=${worker} dp_rank=0 event_id=${at} parent_hash=Some(ExternalSequenceBlockHash(${worker})) num_blocks=0`,
      ]);
    },
  },
  {
    name: 'warnings alone (Dynamo 0.9)',
    lines: (at) =>
      dynamo(at, [
        `WARN dynamo_llm::kv_router::indexer: Failed to find parent block; skipping store operation worker_id=${workerOf(at)} dp_rank=0 event_id=${at} parent_hash=Some(ExternalSequenceBlockHash(${workerOf(at)}))`,
        `WARN dynamo_llm::kv_router::indexer: Failed to find block to remove; skipping remove operation worker_id=${workerOf(at)} dp_rank=0 event_id=${at} block_hash=ExternalSequenceBlockHash(${workerOf(at)})`,
      ]),
  },
  {
    name: 'costs and decisions (Dynamo 0.4, its formula for each worker)',
    lines: (at) =>
      dynamo(at, [
        `INFO dynamo_llm::kv_router::scheduler: Formula for worker_id=${workerOf(at)} dp_rank=0 with ${scattered(at) % 9} cached blocks: 34.375 = 1.0 * prefill_blocks + decode_blocks = 1.0 * 12.375 + 22.000`,
        `INFO dynamo_llm::kv_router::scheduler: Formula for worker_id=${workerOf(at + 1)} dp_rank=0 with 0 cached blocks: 94.375 = 1.0 * prefill_blocks + decode_blocks = 1.0 * 62.375 + 32.000`,
        selected(at),
      ]),
  },
  {
    name: 'decisions as JSON (Dynamo 1.6)',
    lines: (at) => [
      `{"time":"${isoOf(at)}","level":"INFO","file":"/opt/dynamo/lib/kv-router/src/scheduling/selector.rs","line":369,"target":"dynamo_kv_router::scheduling::selector","message":"Selected worker","router_mode":"kv","request_id":"${idOf(at)}","worker_id":${workerOf(at)},"worker_type":"decode","dp_rank":0,"logit":9.5,"effective_cached_blocks":${scattered(at) % 9}.0,"host_pinned_blocks":0,"disk_blocks":0,"total_kv_blocks":"Some(24064)"}`,
    ],
  },
  {
    name: "decisions as JSON of tracing's own form, with fields in fields",
    lines: (at) => [
      `{"timestamp":"${isoOf(at)}","level":"INFO","fields":{"message":"Selected worker","router_mode":"kv","request_id":"${idOf(at)}","worker_id":${workerOf(at)},"worker_type":"decode","dp_rank":0,"logit":9.5,"effective_cached_blocks":${scattered(at) % 9}.0,"total_kv_blocks":"Some(24064)"},"target":"dynamo_kv_router::scheduling::selector"}`,
    ],
  },
  {
    name: "decisions as JSON, in Docker's JSON",
    lines: (at) => {
      const log = `{"time":"${isoOf(at)}","level":"INFO","file":"/opt/dynamo/lib/kv-router/src/scheduling/selector.rs","line":369,"target":"dynamo_kv_router::scheduling::selector","message":"Selected worker","router_mode":"kv","request_id":"${idOf(at)}","worker_id":${workerOf(at)},"worker_type":"decode","dp_rank":0,"logit":9.5,"effective_cached_blocks":${scattered(at) % 9}.0,"total_kv_blocks":"Some(24064)"}\n`;
      return [JSON.stringify({ log, stream: 'stdout', time: isoOf(at) })];
    },
  },
  {
    name: 'decisions alone, with colours',
    lines: (at) => [
      `\u001b[2m${isoOf(at)}\u001b[0m \u001b[32m INFO\u001b[0m \u001b[2mdynamo_llm::kv_router::scheduler\u001b[0m\u001b[2m:\u001b[0m ${selected(at).slice(selected(at).indexOf('Selected'))}`,
    ],
  },
  {
    name: 'decisions alone, as a container runtime keeps them',
    lines: (at) => dynamo(at, [selected(at)]).map((log) => `${isoOf(at)} stdout F ${log}`),
  },
  {
    name: "decisions alone, in Docker's JSON",
    lines: (at) =>
      dynamo(at, [selected(at)]).map((log) =>
        JSON.stringify({ log: `${log}\n`, stream: 'stdout', time: isoOf(at) }),
      ),
  },
  {
    name: 'decisions alone, behind kubectl logs --prefix --timestamps',
    lines: (at) =>
      dynamo(at, [selected(at)]).map(
        (log) => `[pod/frontend-7c9f8d-x2x4z/main] ${isoOf(at).replace('Z', '123456Z')} ${log}`,
      ),
  },
  { name: 'statistics alone (vLLM)', lines: (at) => [engineStats(at)] },
  {
    name: 'statistics alone, behind docker compose',
    lines: (at) => [`vllm-1  | (APIServer pid=1) ${engineStats(at)}`],
  },
  {
    name: 'batches alone (SGLang)',
    lines: (at) => {
      const [time, much] = [isoOf(at).slice(0, 19).replace('T', ' '), scattered(at)];
      return [
        `[${time}] Prefill batch, #new-seq: 1, #new-token: ${much % 4000}, #cached-token: ${much % 900}, token usage: 0.0${much % 10}, #running-req: ${much % 50}, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 566.5`,
        `[${time}] Decode batch, #running-req: ${much % 50}, #token: ${much % 90000}, token usage: 0.1${much % 10}, cuda graph: True, gen throughput (token/s): 812.44, #queue-req: 0`,
      ];
    },
  },
  {
    name: 'hits of LMCache (vLLM)',
    lines: (at) => [
      `[${isoOf(at).slice(0, 23).replace('T', ' ').replace('.', ',')}] LMCache INFO: Reqid: cmpl-${idOf(at)}-0, Total tokens ${4000 + (scattered(at) % 900)}, LMCache hit tokens: ${scattered(at) % 4000}, need to load: 63 (vllm_v1_adapter.py:739:lmcache.integration.vllm.vllm_v1_adapter)`,
    ],
  },
  {
    name: 'scores as JSON (llm-d)',
    lines: (at) => [
      `{"level":"Level(-4)","ts":"${isoOf(at)}","caller":"preciseprefixcache/precise_prefix_cache.go:472","msg":"Got endpoint scores","x-request-id":"${idOf(at)}","scores":{"10.0.2.212:8000":${scattered(at) % 40},"10.0.2.213:8000":0,"10.0.2.214:8000":2},"totalBlocks":40}`,
    ],
  },
  {
    name: 'iterations (TensorRT-LLM)',
    lines: (at) => [
      `[02/16/2026-${isoOf(at).slice(11, 19)}] [TRT-LLM] [RANK 0] [I] iter = ${at}, global_rank = 0, rank = 0, currank_total_requests = 0/0, host_step_time = 12.1ms, prev_device_step_time = 11.9ms, timestamp = ${isoOf(at).slice(0, 19)}, num_scheduled_requests: ${scattered(at) % 64}, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 8}`,
    ],
  },
  {
    name: 'requests of HTTP (uvicorn)',
    lines: (at) => [
      `INFO:     10.0.${scattered(at) % 255}.7:${40000 + (at % 9000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK`,
    ],
  },
  {
    name: 'text that is not ASCII',
    lines: (at) =>
      dynamo(at, [`INFO my::proxy: Anfrage für „Größe“ № ${scattered(at)} → 完了しました in ${at % 90} µs`]),
  },
  {
    name: 'nothing of interest',
    lines: (at) =>
      dynamo(at, [
        `INFO dynamo_runtime::pipeline::network::ingress::push_handler: payload handled component="router" endpoint="generate" namespace="dynamo" instance_id=${workerOf(at)} id=${idOf(at)}`,
      ]),
  },
];

/** The finalizer of MurmurHash3 over a number and the seed 42. */
function scattered(index: number): number {
  let mixed = 42 ^ Math.imul(index, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function workerOf(at: number): string {
  return WORKERS[scattered(at) % WORKERS.length] ?? '';
}

function idOf(at: number): string {
  const hex = [0, 1, 2, 3]
    .map((part) =>
      scattered(at * 4 + part)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
