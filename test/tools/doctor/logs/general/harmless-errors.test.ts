import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import { isHarmlessError } from '../../../../../src/tools/doctor/logs/general/harmless-errors.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

const HARMLESS = [
  '[TensorRT-LLM][ERROR] CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED not supported on GPU0.',
  '(EngineCore_0 pid=12) ERROR 11-02 10:00:00 [multiproc_executor.py:316] Worker proc VllmWorker-1 died unexpectedly (exit code: -15), shutting down executor.',
  'E1102 10:00:00.123456  1 httproute_controller.go:88] Failed to create HTTPRoute: httproutes.gateway.networking.k8s.io "llama-router" already exists',
  '{"level":"error","ts":"2026-11-02T10:00:00Z","msg":"Reconciler error","controller":"podautoscaler","error":"Operation cannot be fulfilled on podautoscalers.autoscaling.aibrix.ai \\"llama\\": the object has been modified; please apply your changes to the latest version and try again"}',
  'E1102 10:00:00.123456  1 leaderelection.go:448] error retrieving resource lock default/epp: Get "https://10.96.0.1:443/apis": context deadline exceeded',
  'E1102 10:00:00.123456  1 reflector.go:200] "Failed to watch" err="failed to list *v1.Pod: an error on the server: unexpected error when reading response body: context deadline exceeded"',
  'ERROR:    asyncio.exceptions.CancelledError',
  'ERROR 11-02 10:00:00 [serving.py:9] Request cmpl-1 was aborted by the client',
  '2026-11-02T10:00:00.1Z ERROR dynamo_llm::http: client disconnected while streaming',
  '{"level":"error","ts":"2026-11-02T10:00:00Z","msg":"failed to send response","error":"rpc error: code = Canceled desc = context canceled"}',
  'ERROR 11-02 10:00:00 [envs.py:9] VLLM_ATTENTION_BACKEND is deprecated, use --attention-backend',
  'E1102 10:00:00.123456  1 apa.go:77] "Scaling information" current=1 desired=1',
  'ERROR: resource_tracker: There appear to be 1 leaked shared_memory objects to clean up at shutdown',
  "E0320 20:42:20.781943     861 nixl_agent.cpp:498] deregisterMem: no available backends for mem type 'VRAM_SEG'",
  '(EngineCore_DP0 pid=9006) /usr/lib/python3.12/multiprocessing/resource_tracker.py:123: UserWarning: resource_tracker: process died unexpectedly, relaunching.  Some resources might leak.',
  "(EngineCore_DP0 pid=9006)   warnings.warn('resource_tracker: process died unexpectedly, '",
  '[05/10/2026-09:01:22] [TRT-LLM] [W] [Autotuner] Failed when profiling runner=MoERunner, tactic=3. Error: [TensorRT-LLM][ERROR] Assertion failed: Failed to initialize cutlass TMA WS grouped gemm. (/src/a.inl:556)',
  'AssertionError: 13348.1 not greater than or equal to 13596.077419354837',
  'E       AssertionError: 0 != 3',
  'Exception: retry() exceed maximum number of retries.',
  'ERROR: test_throughput (__main__.TestPairs.test_throughput)',
  'E1102 10:00:00.123456  1 server.go:12] "metrics server ended" err="http: Server closed"',
];

const FAULTS = [
  '(EngineCore_0 pid=12) ERROR 11-02 10:00:00 [multiproc_executor.py:316] Worker proc VllmWorker-1 died unexpectedly (exit code: 1), shutting down executor.',
  'E1102 10:00:00.123456  1 reflector.go:200] "Failed to watch" err="failed to list *v1.Pod: pods is forbidden: User cannot list resource"',
  'ValueError: --enable-foo is deprecated and no longer supported',
  'AssertionError: 48 blocks are held and none is free',
  'ERROR 11-02 10:00:00 [core.py:9] the frobnicator of block 7 is out of tune',
  'E1102 10:00:00.123456  1 leaderelection.go:320] leader election lost',
  'ERROR 11-02 10:00:00 [conn.py:9] Connection reset by peer',
];

describe('errors that healthy programs write', () => {
  it.each(HARMLESS)('are no finding, and are not quoted: %s', async (line) => {
    expect(isHarmlessError(line)).toBe(true);
    const { verdict, headline } = diagnose(joined({ logs: [await summaryOf(`${line}\n`)] }));
    expect(verdict).toBe('unknown');
    expect(headline).toMatch(/^Nothing wrong was seen/);
  });

  it.each(FAULTS)('are not all that come with such words: %s', (line) => {
    expect(isHarmlessError(line)).toBe(false);
  });
});
