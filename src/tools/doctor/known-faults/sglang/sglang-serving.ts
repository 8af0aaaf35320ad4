import type { KnownFault } from '../known-fault.js';

/** What SGLang's engines say as they serve, and as the nodes of one engine meet: 0.4.6 to 0.5.23. */
export const SGLANG_SERVING: readonly KnownFault[] = [
  {
    id: 'sglang_worker_ports_late',
    cause: 'program_ended',
    needles: [
      'Timeout waiting for worker ports from node 0',
      'Failed to receive worker ports from node 0 within',
    ],
    says: 'a node of an SGLang engine got no ports of its data-parallel ranks from node 0 within 10 minutes',
    why: 'Node 0 chooses the ports of all ranks and gives them to the other nodes 13 ports above that of --dist-init-addr. Where that port is shut, or node 0 has ended or was started later, the node waits for nothing and ends.',
    cure: 'Start node 0 of the engine first, with the same --dist-init-addr HOST:PORT on all nodes, and open that port and the 20 above it between the nodes (NetworkPolicy, security group)',
    commands: [
      'kubectl logs NODE_0 | tail -n 40    # whether it runs',
      'kubectl exec NODE_1 -- python3 -c "import socket; socket.create_connection((\'HOST\', PORT + 13), 3)"',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'sglang_health_no_answer',
    cause: 'program_ended',
    needles: ["Server couldn't get a response from detokenizer for"],
    pattern: /response from detokenizer for last (\d{1,5}) seconds/,
    isSign: true,
    atLeast: 2,
    follows: ['transfers_fail', 'cache_memory_missing', 'connector_crashed', 'transfer_path_broken'],
    says: "SGLang's scheduler gave no token for $1 s: /health answers 503, and Kubernetes and routers take the engine out",
    why: 'The health check sends a request of one token through the scheduler. It waits behind a long prefill, kernels that are compiled at their first use, or a transfer or collective that does not return.',
    cure: 'Run py-spy dump --pid PID on each scheduler process while it lasts: where it stands in a kernel that is being compiled or in a long prefill, set SGLANG_HEALTH_CHECK_TIMEOUT above that time on the engine and point the liveness probe at /health with a longer timeoutSeconds and failureThreshold; where all ranks stand in a collective or a transfer, restart the engine and see that rank that is behind',
    commands: [
      'kubectl exec POD -- sh -c "pip install py-spy; pgrep -f sglang::scheduler | xargs -n1 py-spy dump --pid"',
    ],
  },
  {
    id: 'sglang_prompt_above_pool',
    cause: 'cache_memory_missing',
    needles: ['Request length is longer than the KV cache pool size or'],
    pattern: /origin_input_ids\)=(\d{1,9}), max_req_input_len=(\d{1,9})/,
    isSign: true,
    says: 'prompts of $1 tokens are cut to $2, as the KV cache or the context of this engine takes no more',
    why: 'With --allow-auto-truncate a prompt that does not fit is cut, and not refused. What fits is the smaller of --context-length and the tokens of the KV cache (max_total_num_tokens in the log of the start).',
    cure: 'Raise --context-length where max_total_num_tokens is above it; otherwise give the KV cache more tokens (--mem-fraction-static, --kv-cache-dtype fp8_e4m3, a larger --tp-size), or take --allow-auto-truncate out, so that such requests are refused with 400',
    commands: ['kubectl logs POD | grep -m1 -o "max_total_num_tokens=[0-9]*.*context_len=[0-9]*"'],
  },
  {
    id: 'sglang_pages_not_read',
    cause: 'offload_failed',
    needles: [' failed to retrieve page '],
    pattern: /Prefetch operation \S{1,120} failed to retrieve page/,
    isSign: true,
    atLeast: 3,
    says: "pages that the store behind SGLang's hierarchical cache lists are not read back from it",
    why: 'A look-up had found them. They were evicted in between, lie on a disk or a client that does not give them, or were stored with another layout or page size. The prompt is computed from there on.',
    cure: 'See what the store itself says right above (lines E… of Mooncake; hf3fs, nixl): with Mooncake give pages more time (mooncake_master --default_kv_lease_ttl=30000) and room (MOONCAKE_GLOBAL_SEGMENT_SIZE); start all engines that share it with the same --page-size, --hicache-mem-layout, --kv-cache-dtype and --tp-size',
    commands: ['kubectl logs POD --since=10m | grep -B8 -m1 "failed to retrieve page"'],
  },
];
