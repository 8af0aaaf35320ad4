import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import { summaryOf } from './logs/summaries.js';
import { joined } from './support/evidence.js';

/** Lines of programs whose sentences need no known fault: the rules for settings say as much of them. */
const REFUSED: readonly (readonly [cure: string, log: string])[] = [
  [
    'Start the engine without --disable-hybrid-kv-cache-manager, and with a KV connector that supports the manager',
    'ValueError: Connector LMCacheConnectorV1 does not support HMA but HMA is enabled. Please set `--disable-hybrid-kv-cache-manager`.\n\nValueError: Hybrid KV cache manager is disabled but failed to convert the KV cache specs to one unified type.',
  ],
  [
    "Set DYN_EVENT_PLANE to one of 'nats', 'zmq' in place of tcp",
    "Error: Invalid DYN_EVENT_PLANE value 'tcp'. Valid values: 'nats', 'zmq'",
  ],
  [
    "Set DYN_EVENT_PLANE_CODEC to one of 'json', 'msgpack' in place of cbor",
    "Error: Invalid DYN_EVENT_PLANE_CODEC value 'cbor'. Valid values: 'json', 'msgpack'",
  ],
  [
    'Start the frontend without --durable-kv-events (DYN_ROUTER_DURABLE_KV_EVENTS), or all programs with DYN_EVENT_PLANE=nats',
    '2026-03-03T10:00:00.000114Z ERROR dynamo_llm::kv_router: --durable-kv-events requires NATS event plane, but runtime is configured for Zmq',
  ],
  [
    'Set --enable-gateway-api (kubectl edit), or start the program without --enable-gateway-api-inference-extension',
    'F1127 10:00:00.123456       1 main.go:93] --enable-gateway-api-inference-extension requires --enable-gateway-api to be enabled',
  ],
  [
    'Set only one of ENABLE_FAIRNESS_SCHEDULING and ENABLE_SESSION_BOOST',
    'F1127 10:00:00.123456       1 router.go:130] ENABLE_FAIRNESS_SCHEDULING and ENABLE_SESSION_BOOST are mutually exclusive; enable only one',
  ],
  [
    'with one of --config-text and --config-file, without the other',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","logger":"setup","caller":"runner/runner.go:277","msg":"Failed to validate flags","error":"both the \\"config-text\\" and \\"config-file\\" flags cannot be set at the same time","stacktrace":"main.main\\n\\t/src/cmd/epp/main.go:33\\nruntime.main\\n\\t/usr/local/go/src/runtime/proc.go:283"}',
  ],
  [
    'with one of --config-file and --config-text, without the other',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","logger":"setup","caller":"runner/runner.go:277","msg":"Failed to validate flags","error":"both the \\"config-file\\" and \\"config-text\\" flags can not be set at the same time","stacktrace":"main.main\\n\\t/src/cmd/epp/main.go:33\\nruntime.main\\n\\t/usr/local/go/src/runtime/proc.go:283"}',
  ],
  [
    'Correct --ec-connector of the sidecar: it must be one of: ec-example, ec-nixl',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","msg":"Invalid configuration","error":"--ec-connector must be one of: ec-example, ec-nixl","stacktrace":"main.main\\n\\t/workspace/cmd/pd-sidecar/main.go:46\\nruntime.main\\n\\t/usr/local/go/src/runtime/proc.go:283"}',
  ],
  [
    'Correct --enable-p2p-pull of the sidecar: it requires --kv-connector=nixlv2',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","msg":"Invalid configuration","error":"--enable-p2p-pull requires --kv-connector=nixlv2 (got \\"mooncake\\")","stacktrace":"main.main\\n\\t/workspace/cmd/pd-sidecar/main.go:46\\nruntime.main\\n\\t/usr/local/go/src/runtime/proc.go:283"}',
  ],
  [
    "Set req_checksum (or --req-checksum) to 'required' or 'supported' in place of yes",
    "RuntimeError: Invalid value for req_checksum: 'yes'. Must be 'required' or 'supported'",
  ],
  [
    'Set --kv-offloading-size, or start the program without --kv-offloading-backend',
    '(APIServer pid=7)   Value error, You must set kv_offloading_size when kv_offloading_backend is set. [type=value_error]',
  ],
  [
    'Correct --swa-full-tokens-ratio in the command of the engine',
    'Traceback (most recent call last):\n  File "/usr/lib/python3.10/runpy.py", line 196, in _run_module_as_main\n    return _run_code(code, main_globals, None,\n  File "/sgl-workspace/sglang/python/sglang/launch_server.py", line 11, in <module>\n    server_args = prepare_server_args(sys.argv[1:])\n  File "/sgl-workspace/sglang/python/sglang/srt/server_args.py", line 412, in __post_init__\n    raise ValueError(\nValueError: --swa-full-tokens-ratio should be in range (0, 1.0].',
  ],
  [
    'Set SGLANG_DISAGGREGATION_THREAD_POOL_SIZE to a value that is greater than or equal to SGLANG_DISAGGREGATION_QUEUE_SIZE=4',
    '[2026-03-03 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 3253, in run_scheduler_process\n    scheduler.run_event_loop()\n  File "/sgl-workspace/sglang/python/sglang/srt/disaggregation/mooncake/conn.py", line 412, in __init__\n    raise AssertionError(\nAssertionError: The environment variable SGLANG_DISAGGREGATION_THREAD_POOL_SIZE=2 must be greater than or equal to SGLANG_DISAGGREGATION_QUEUE_SIZE=4.',
  ],
  [
    'Set node_id (or --node-id) to a value that is in range [0, 256)',
    'ValueError: node_id must be in range [0, 256), got 300',
  ],
  [
    'Set --data-parallel-size-local to a value that is > 0 in headless mode',
    '(APIServer pid=7) Traceback (most recent call last):\n(APIServer pid=7)   File "/usr/local/bin/vllm", line 10, in <module>\n(APIServer pid=7)     sys.exit(main())\n(APIServer pid=7)   File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/cli/serve.py", line 104, in run_headless\n(APIServer pid=7)     raise RuntimeError(\n(APIServer pid=7) RuntimeError: data_parallel_size_local must be > 0 in headless mode',
  ],
];

describe('a setting that a program refuses in a sentence of no known fault', () => {
  it.each(REFUSED)('has the cure: %s', async (cure, log) => {
    const { assessments, advice } = diagnose(joined({ logs: [await summaryOf(`${log}\n`)] }));
    expect(assessments[0]?.cause).toBe('settings_refused');
    expect(advice).toContain(cure);
  });
});
