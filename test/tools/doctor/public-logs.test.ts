import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { CauseId, Diagnosis } from '../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

const FOLDER = new URL('../../fixtures/doctor-public-logs/', import.meta.url);

interface PublicLog {
  readonly name: string;
  /** The first cause, or the verdict of a log without a fault. */
  readonly first: CauseId | 'healthy' | 'unknown';
  /** What the fixes of the first cause have to name. */
  readonly cure?: string;
}

const LOGS: readonly PublicLog[] = [
  { name: 'dynamo-0.3-second-model-of-64', first: 'block_size_mismatch', cure: 'block size of 64' },
  { name: 'dynamo-0.6-component-of-32', first: 'block_size_mismatch', cure: 'restart the router' },
  { name: 'dynamo-0.9-endpoint-of-32.jsonl', first: 'block_size_mismatch', cure: 'block size of 32' },
  { name: 'dynamo-1.4-indexer-conflict', first: 'block_size_mismatch', cure: 'block size of 64' },
  { name: 'dynamo-1.6-parents-and-zeros', first: 'block_size_mismatch', cure: 'both number' },
  { name: 'dynamo-1.1-publisher-16-engine-64', first: 'block_size_mismatch', cure: '64' },
  { name: 'dynamo-0.9-impossible-size', first: 'block_size_mismatch', cure: 'both number' },
  { name: 'dynamo-trtllm-block-of-64', first: 'block_size_mismatch', cure: '64' },
  { name: 'dynamo-router-of-128-flashmla', first: 'hybrid_block_size', cure: '64' },
  { name: 'dynamo-vllm-publishing-skipped', first: 'events_off', cure: 'KV events switched on' },
  { name: 'dynamo-vllm-config-says-false', first: 'events_off', cure: 'KV events switched on' },
  { name: 'dynamo-vllm-no-prefix-caching', first: 'events_off', cure: 'prefix caching' },
  { name: 'dynamo-trtllm-no-reuse', first: 'events_off', cure: 'prefix caching' },
  { name: 'dynamo-trtllm-publishing-disabled', first: 'events_off', cure: 'KV events switched on' },
  { name: 'dynamo-sglang-no-events', first: 'events_off', cure: 'KV events switched on' },
  { name: 'dynamo-1.6-checks-report-no-publisher', first: 'events_off', cure: 'KV events switched on' },
  { name: 'vllm-0.10-publisher-thread', first: 'publisher_failed', cure: 'sha256_cbor_64bit' },
  { name: 'sglang-publisher-thread', first: 'publisher_failed', cure: 'port of its own' },
  { name: 'dynamo-trtllm-zmq-publish', first: 'publisher_failed', cure: 'Restart each worker' },
  { name: 'dynamo-0.6-model-checksum', first: 'workers_rejected', cure: 'card' },
  { name: 'dynamo-0.9-gap-not-recovered', first: 'events_lost', cure: 'Restart the frontend' },
  { name: 'dynamo-1.6-lane-full', first: 'events_lost', cure: 'Restart the frontend' },
  { name: 'dynamo-trtllm-event-ids', first: 'events_lost', cure: 'Restart the frontend' },
  { name: 'dynamo-1.1-batch-format', first: 'events_unreadable', cure: 'belong together' },
  { name: 'dynamo-0.6-zmq-connect', first: 'events_unreachable', cure: 'Open the event port' },
  { name: 'dynamo-1.6-source-not-observed', first: 'events_unreachable', cure: 'Open the event port' },
  { name: 'dynamo-events-ignored', first: 'events_ignored', cure: '--no-router-kv-events' },
  { name: 'llm-d-parent-unknown', first: 'picker_index_incomplete', cure: 'picker' },
  { name: 'llm-d-fp4-indexer-groups', first: 'picker_index_incomplete', cure: 'hybrid' },
  { name: 'llm-d-index-of-larger-blocks', first: 'block_size_mismatch', cure: 'tokenProcessorConfig' },
  { name: 'llm-d-cpu-offload', first: 'events_unreadable', cure: 'picker' },
  { name: 'llm-d-topic', first: 'events_unreadable', cure: 'kv@' },
  { name: 'llm-d-subscriber', first: 'events_unreachable', cure: 'Open the event port' },
  { name: 'llm-d-tokenizer', first: 'prompts_not_scored', cure: 'tokenizer' },
  { name: 'llm-d-no-match-info', first: 'prompts_not_scored', cure: 'token-producer' },
  { name: 'aibrix-event-batch', first: 'events_unreadable', cure: 'belong together' },
  { name: 'dynamo-sglang-tp-publishers', first: 'publisher_failed', cure: 'port of its own' },
  { name: 'sglang-npu-no-radix', first: 'events_off', cure: '--disable-radix-cache' },
  { name: 'vllm-nixl-hash-mismatch-kvbm', first: 'pair_incompatible', cure: 'non-default args' },
  { name: 'vllm-nixl-engine-id', first: 'side_channel_unreachable', cure: 'VLLM_NIXL_SIDE_CHANNEL_HOST' },
  { name: 'vllm-nixl-no-answer', first: 'side_channel_unreachable', cure: 'VLLM_NIXL_SIDE_CHANNEL_HOST' },
  { name: 'vllm-nixl-leases-480', first: 'leases_expire', cure: 'kv_lease_duration' },
  { name: 'vllm-nixl-fetched-too-late', first: 'leases_expire', cure: 'kv_lease_duration' },
  { name: 'vllm-nixl-ucx-over-tcp', first: 'transfer_slow', cure: 'cuda_ipc' },
  {
    name: 'sglang-bootstrap-timeout',
    first: 'transfers_fail',
    cure: 'SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT',
  },
  { name: 'sglang-waiting-timeout', first: 'transfers_fail', cure: 'SGLANG_DISAGGREGATION_WAITING_TIMEOUT' },
  { name: 'sglang-bootstrap-connect-timeout', first: 'side_channel_unreachable', cure: 'bootstrap port' },
  { name: 'vllm-ascend-mooncake-timeout', first: 'transfers_fail', cure: 'kubectl logs PREFILL' },
  { name: 'trtllm-transfer-buffer', first: 'transfers_fail', cure: 'max_tokens_in_buffer' },
  { name: 'vllm-nixl-params-dropped', first: 'decode_recomputes', cure: 'kv_transfer_params' },
  { name: 'vllm-mooncake-bootstrap', first: 'side_channel_unreachable', cure: '8998' },
  { name: 'sglang-page-size-differs', first: 'pair_incompatible', cure: '--page-size' },
  { name: 'sglang-bootstrap-not-reached', first: 'side_channel_unreachable', cure: 'bootstrap' },
  { name: 'sglang-tp-differs', first: 'pair_incompatible', cure: '--tensor-parallel-size' },
  { name: 'gateway-no-prefill', first: 'role_missing', cure: 'role=prefill' },
  { name: 'dynamo-prefill-router-not-activated', first: 'role_missing', cure: 'role=prefill' },
  { name: 'production-stack-instance-unknown', first: 'instance_unknown', cure: 'address of its own' },
  { name: 'vllm-lmcache-gives-less', first: 'offload_failed', cure: 'LMCACHE_MAX_LOCAL_CPU_SIZE' },
  { name: 'vllm-lmcache-no-room', first: 'offload_failed', cure: 'LMCACHE_MAX_LOCAL_CPU_SIZE' },
  { name: 'vllm-ascend-mooncake-keys', first: 'offload_failed', cure: 'same storage' },
  { name: 'llm-d-tokenizer-folder', first: 'prompts_not_scored', cure: 'tokenizer' },
  { name: 'llm-d-0.1-no-redis', first: 'prompts_not_scored', cure: 'index' },
  { name: 'llm-d-no-prefix-state', first: 'prompts_not_scored', cure: 'index' },
  { name: 'dynamo-1.2-card-size', first: 'model_not_added', cure: 'same files' },
  { name: 'trtllm-event-queue', first: 'events_lost' },
  { name: 'dynamo-0.2-round-robin', first: 'not_kv_routing', cure: '--router-mode kv' },
  { name: 'sglang-full-with-queue', first: 'cache_churn' },
  { name: 'vllm-full-with-queue', first: 'cache_churn' },
  { name: 'vllm-0.6-multimodal', first: 'events_off', cure: 'prefix caching' },
  { name: 'vllm-no-room-for-longest', first: 'cache_memory_missing', cure: 'max-model-len' },
  { name: 'vllm-gpu-of-another', first: 'cache_memory_missing', cure: 'nvidia-smi' },
  { name: 'sglang-no-room', first: 'cache_memory_missing', cure: 'mem-fraction-static' },
  { name: 'sglang-decode-out-of-memory', first: 'cache_memory_missing', cure: 'mem-fraction-static' },
  { name: 'vllm-without-nixl', first: 'library_missing', cure: 'pip install nixl' },
  { name: 'sglang-without-mooncake', first: 'library_missing', cure: 'mooncake-transfer-engine' },
  { name: 'vllm-lmcache-other-build', first: 'library_missing', cure: 'lmcache' },
  { name: 'vllm-connector-and-hybrid', first: 'settings_refused', cure: '--disable-hybrid-kv-cache-manager' },
  { name: 'vllm-offloaded-block-size', first: 'settings_refused', cure: 'kubectl' },
  { name: 'vllm-older-than-its-flags', first: 'settings_refused', cure: '--kv-events-config' },
  { name: 'vllm-nixl-endpoint-timeout', first: 'transfer_path_broken', cure: 'UCX_NET_DEVICES' },
  { name: 'vllm-nixl-locked-memory', first: 'transfer_path_broken', cure: 'IPC_LOCK' },
  { name: 'vllm-nixl-no-transport', first: 'transfer_path_broken', cure: 'UCX_TLS' },
  { name: 'vllm-nixl-peer-gone', first: 'transfer_path_broken', cure: 'kubectl get pods' },
  { name: 'sglang-mooncake-no-device', first: 'transfer_path_broken', cure: 'RDMA device' },
  { name: 'sglang-mooncake-path', first: 'transfer_path_broken', cure: 'kubectl get pods' },
  { name: 'dynamo-without-etcd', first: 'control_plane_unreachable', cure: 'ETCD_ENDPOINTS' },
  { name: 'dynamo-without-nats', first: 'control_plane_unreachable', cure: 'NATS_SERVER' },
  { name: 'llm-d-picker-refuses-plugin', first: 'settings_refused', cure: 'EndpointPickerConfig' },
  { name: 'llm-d-picker-without-endpoints', first: 'role_missing', cure: '--show-labels' },
  { name: 'aibrix-no-ready-pods', first: 'role_missing', cure: '--show-labels' },
  { name: 'vllm-pair-without-connector', first: 'decode_recomputes', cure: '--kv-transfer-config' },
  { name: 'vllm-nixl-connector-crashes', first: 'connector_crashed', cure: 'later version' },
  { name: 'sglang-pair-unified-memory', first: 'pair_incompatible', cure: '--tensor-parallel-size' },
  { name: 'sglang-kvcache-not-sent', first: 'transfer_path_broken', cure: 'prefill' },
  { name: 'trtllm-block-left-reuse-tree', first: 'connector_crashed', cure: 'later version' },
  { name: 'mooncake-store-times-out', first: 'offload_failed', cure: 'same storage' },
  { name: 'mooncake-master-not-reached', first: 'offload_failed', cure: 'kubectl get svc' },
  { name: 'mooncake-no-gid', first: 'transfer_path_broken', cure: 'RDMA device' },
  { name: 'mooncake-not-registered', first: 'transfer_path_broken', cure: 'IPC_LOCK' },
  { name: 'sglang-nixl-backtrace', first: 'connector_crashed', cure: 'later version' },
  { name: 'vllm-nixl-older-agent', first: 'library_missing', cure: 'pip install nixl' },
  { name: 'vllm-nixl-plugin-symbol', first: 'library_missing', cure: 'nixl' },
  { name: 'vllm-connector-generation', first: 'library_missing', cure: 'release notes' },
  { name: 'gateway-select-prefill', first: 'role_missing', cure: 'role=prefill' },
  { name: 'gateway-workers-not-healthy', first: 'role_missing', cure: '--show-labels' },
  { name: 'kvbm-ping-times-out', first: 'offload_failed', cure: 'kubectl' },
  { name: 'kvbm-connector-crashes', first: 'connector_crashed', cure: 'later version' },
  { name: 'vllm-ascend-connect-timeout', first: 'transfer_path_broken', cure: 'kubectl get pods' },
  { name: 'vllm-ascend-not-connected', first: 'transfer_path_broken', cure: 'kubectl get pods' },
  { name: 'vllm-hybrid-not-unified', first: 'settings_refused', cure: 'kubectl' },
  { name: 'dynamo-0.4-finds-blocks', first: 'healthy' },
  { name: 'dynamo-0.6-finds-blocks', first: 'healthy' },
  { name: 'dynamo-0.9-finds-blocks', first: 'healthy' },
  { name: 'dynamo-1.1-finds-blocks', first: 'healthy' },
  { name: 'dynamo-1.6-finds-blocks', first: 'healthy' },
  { name: 'dynamo-1.6-two-tiers-finds-blocks', first: 'healthy' },
  { name: 'dynamo-1.6-finds-blocks.jsonl', first: 'healthy' },
  { name: 'dynamo-1.6-one-block-to-remove', first: 'healthy' },
  { name: 'dynamo-0.5-short-prompts', first: 'unknown' },
  { name: 'dynamo-0.2-formula-without-blocks', first: 'unknown' },
  { name: 'dynamo-1.1-router-starts', first: 'unknown' },
  { name: 'dynamo-vllm-worker-publishes', first: 'unknown' },
  { name: 'dynamo-sglang-worker-publishes', first: 'unknown' },
  { name: 'dynamo-trtllm-worker-publishes', first: 'unknown' },
  { name: 'dynamo-vllm-decode-worker', first: 'unknown' },
  { name: 'dynamo-router-with-remote-index', first: 'unknown' },
  { name: 'vllm-alone-flashmla', first: 'unknown' },
  { name: 'vllm-alone-cutlass-mla', first: 'unknown' },
  { name: 'vllm-alone-hybrid', first: 'unknown' },
  { name: 'vllm-alone-without-events', first: 'unknown' },
  { name: 'vllm-alone-random-seed', first: 'unknown' },
  { name: 'vllm-prefix-cache-reset-refused', first: 'unknown' },
  { name: 'vllm-nixl-kernel-blocks', first: 'unknown' },
  { name: 'vllm-lmcache-hits', first: 'unknown' },
  { name: 'vllm-0.6-alone', first: 'unknown' },
  { name: 'sglang-alone-page-size', first: 'unknown' },
  { name: 'sglang-alone-flashmla', first: 'unknown' },
  { name: 'sglang-hicache-declines', first: 'unknown' },
  { name: 'llm-d-two-frames', first: 'events_unreadable', cure: 'belong together' },
  { name: 'vllm-long-answers-fill-it', first: 'unknown' },
  { name: 'sglang-0.3-hit-rate', first: 'unknown' },
  { name: 'sglang-swa-one-long-prompt', first: 'unknown' },
  { name: 'dynamo-1.6-shared-cache-fails', first: 'healthy' },
  { name: 'llm-d-0.3-scores', first: 'healthy' },
  { name: 'trtllm-alone', first: 'unknown' },
  { name: 'llm-d-finds-blocks', first: 'healthy' },
  { name: 'llm-d-finds-blocks-and-misses-one', first: 'healthy' },
  { name: 'llm-d-picker-starts', first: 'unknown' },
  { name: 'vllm-ascend-idle-zeros', first: 'unknown' },
  { name: 'vllm-0.8-cpu-zeros', first: 'unknown' },
  { name: 'vllm-preemptions-as-hits', first: 'unknown' },
  { name: 'vllm-glm5-zeros', first: 'unknown' },
  { name: 'vllm-spyre-hits', first: 'unknown' },
  { name: 'vllm-rocm-rounds', first: 'unknown' },
  { name: 'vllm-ascend-two-engines', first: 'unknown' },
  { name: 'vllm-nixl-port-in-use', first: 'side_channel_dead', cure: 'VLLM_NIXL_SIDE_CHANNEL_PORT' },
  { name: 'vllm-nixl-works', first: 'unknown' },
  { name: 'vllm-nixl-one-lease', first: 'unknown' },
  { name: 'sglang-pair-works', first: 'unknown' },
  { name: 'sglang-decode-alone', first: 'unknown' },
  { name: 'gateway-pd-starts', first: 'unknown' },
  { name: 'vllm-nixl-kv-both', first: 'unknown' },
  { name: 'vllm-nixl-prefill-serves', first: 'unknown' },

  { name: 'dynamo-0.5-sglang-finds-blocks', first: 'unknown' },
  { name: 'dynamo-0.6-zero-blocks', first: 'unknown' },
  { name: 'dynamo-0.8-local-indexer', first: 'unknown' },
  { name: 'dynamo-trtllm-0.1-estimated-hits', first: 'unknown' },
  { name: 'dynamo-0.1-scores-zero', first: 'unknown' },
  { name: 'vllm-full-and-finds', first: 'unknown' },
  { name: 'vllm-0.8-cpu-hits', first: 'unknown' },
  { name: 'vllm-lmcache-negative-load', first: 'unknown' },
  { name: 'vllm-lmcache-after-preemption', first: 'unknown' },
  { name: 'sglang-0.1-hits', first: 'unknown' },
  { name: 'sglang-multi-turn', first: 'unknown' },
  { name: 'sglang-npu-cold', first: 'unknown' },
  { name: 'vllm-message-queue-port', first: 'unknown' },
  { name: 'vllm-ascend-transfer-port', first: 'unknown' },
  { name: 'sglang-clients-gone', first: 'unknown' },
  { name: 'sglang-one-conversation', first: 'unknown' },
  { name: 'lmcache-gives-what-it-lists', first: 'unknown' },
  { name: 'vllm-nixl-transfers', first: 'unknown' },
  { name: 'trtllm-0.21-starts', first: 'unknown' },
  { name: 'trtllm-triton-starts', first: 'unknown' },
  { name: 'vllm-two-attention-sizes', first: 'unknown' },
  { name: 'aibrix-starts', first: 'unknown' },
  { name: 'llm-d-tokenizer-noise', first: 'unknown' },
  { name: 'production-stack-routes', first: 'unknown' },
  { name: 'vllm-cold-burst', first: 'unknown' },
  { name: 'gateway-extension-schedules', first: 'unknown' },
  { name: 'vllm-starts-with-room', first: 'unknown' },
  { name: 'sglang-optional-imports', first: 'unknown' },
  { name: 'vllm-nixl-starts', first: 'unknown' },
  { name: 'sglang-mooncake-starts', first: 'unknown' },
  { name: 'dynamo-reaches-etcd', first: 'unknown' },
  { name: 'llm-d-picker-loads', first: 'unknown' },
  { name: 'other-exceptions', first: 'unknown' },
  { name: 'vllm-refuses-one-request', first: 'unknown' },
  { name: 'trtllm-store-context-blocks', first: 'unknown' },
  { name: 'sglang-request-aborted', first: 'unknown' },
  { name: 'mooncake-mounts', first: 'unknown' },
  { name: 'kserve-controller', first: 'unknown' },
  { name: 'vllm-nixl-registers', first: 'unknown' },
  { name: 'dynamo-vllm-configured', first: 'unknown' },
  { name: 'gateway-extension-lora-metric', first: 'unknown' },
  { name: 'vllm-kvbm-starts', first: 'unknown' },
  { name: 'dynamo-clients-gone', first: 'unknown' },
  { name: 'aibrix-model-not-found', first: 'unknown' },
  { name: 'vllm-router-starts', first: 'unknown' },
  { name: 'lmcache-stores', first: 'unknown' },
  { name: 'vllm-dumps-its-scheduler', first: 'unknown' },
  { name: 'sglang-xpu-starts', first: 'unknown' },
  { name: 'vllm-speculates', first: 'unknown' },
  { name: 'trtllm-engine-loads', first: 'unknown' },
  { name: 'gateway-another-flag', first: 'unknown' },
  { name: 'other-programs', first: 'unknown' },
  { name: 'prompts-that-quote-errors', first: 'unknown' },
];

async function linesOf(name: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`${name}.txt`, FOLDER), 'utf8');
  return text.trimEnd().split('\n');
}

async function ofLines(lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(lines.map((line) => `${line}\n`).join(''))] }));
}

function firstOf({ verdict, assessments }: Diagnosis): string {
  return verdict === 'findings' ? (assessments[0]?.cause ?? '') : verdict;
}

/** How lines arrive that went through collectors. */
const WRAPPERS: readonly (readonly [string, (line: string) => string])[] = [
  ['kubectl logs --prefix', (line) => `[pod/pod-0/main] ${line}`],
  ['docker compose logs', (line) => `frontend-1  | ${line}`],
  ['stern', (line) => `pod-0 main ${line}`],
  ['a container runtime', (line) => `2026-03-03T10:00:00.123456789Z stdout F ${line}`],
  [
    'the JSON of Docker',
    (line) => JSON.stringify({ log: `${line}\n`, stream: 'stderr', time: '2026-03-03T10:00:00Z' }),
  ],
  ['logcli', (line) => `2026-03-03T10:00:00Z {app="llm", pod="pod-0"} ${line}`],
  [
    'the JSON of Loki',
    (line) => JSON.stringify({ labels: { app: 'llm' }, line, timestamp: '2026-03-03T10:00:00Z' }),
  ],
  ['journalctl', (line) => `Mar 03 10:00:00 node-1 python3[812]: ${line}`],
  ['journalctl -o short-iso', (line) => `2026-03-03T10:00:00+0000 node-1 python3[812]: ${line}`],
  ['the JSON of journald', (line) => JSON.stringify({ _HOSTNAME: 'node-1', MESSAGE: line })],
  ['a terminal with colours', (line) => line.replace(/(INFO|WARN|ERROR)/, '\u001b[33m$1\u001b[0m')],
];

describe('logs after public texts', () => {
  it('has as many logs without a fault as with one', () => {
    const healthy = LOGS.filter(({ cure }) => cure === undefined);
    expect(LOGS.length).toBeGreaterThanOrEqual(60);
    expect(healthy.length * 2).toBeGreaterThanOrEqual(LOGS.length - 2);
  });

  it.each(LOGS)('calls $name $first', async ({ name, first, cure = '' }) => {
    const diagnosis = await ofLines(await linesOf(name));
    expect(firstOf(diagnosis)).toBe(first);
    const fixes = diagnosis.assessments[0]?.fixes ?? [];
    const words = fixes.flatMap(({ says, commands }) => [says, ...commands]).join('\n');
    expect(cure === '' ? cure : words).toContain(cure);
  });

  it.each(WRAPPERS)('makes the same of them behind %s', async (_name, wrap) => {
    for (const { name, first } of LOGS) {
      const diagnosis = await ofLines((await linesOf(name)).map(wrap));
      expect(`${name}: ${firstOf(diagnosis)}`).toBe(`${name}: ${first}`);
    }
  });
});
