import type { KnownFault } from '../known-fault.js';

/** Requests that a prefill SGLang gives up before it sends: `disaggregation/prefill.py`, `common/conn.py` and those of each backend, 0.4.6 to 0.5.23. */
export const SGLANG_BOOTSTRAP: readonly KnownFault[] = [
  {
    id: 'sglang_bootstrap_timed_out',
    cause: 'transfers_fail',
    needles: ['requests timed out when bootstrapping', 's in KVPoll.Bootstrapping'],
    pattern: /requests timed out when bootstrapping|timed out after [\d.]{1,12}s in KVPoll\.Bootstrapping/,
    says: 'prefill engines of SGLang give requests up in their bootstrap: no decode engine said in time where their KV blocks go',
    why: 'A prefill engine keeps a request until the decode engine of its pair has room for it and says where its blocks go, for SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT (300 s by default). Decode engines that are full, hang or have ended do not, nor those to which the ports of the prefill engine are closed, nor one that never got its half of the request.',
    cure: 'Look at the decode engines of that time: they have to be up, to reach the prefill engines, and to have free KV blocks (token usage of their "Decode batch" lines); add decode engines or admit fewer requests, and set SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT above 300 on prefill engines only where decode engines are merely slow',
    commands: [
      'kubectl logs DECODE --since=30m | grep -E "Decode batch|transfer failed|Traceback" | tail    # full, hung or gone?',
      'kubectl get pods -o wide    # restarts of decode pods',
      'kubectl exec DECODE -- curl -sS -m 3 http://PREFILL:8998/health    # 8998, or the --disaggregation-bootstrap-port',
    ],
    disturbs: 'nothing',
  },
  {
    id: 'sglang_bootstrap_late',
    cause: 'side_channel_unreachable',
    needles: ['Prefill instance failed to register to bootstrap server'],
    pattern:
      /bootstrap server: .{0,20}ConnectionPool\(host='(?:0\.0\.0\.0|127\.0\.0\.1|localhost)', port=(\d{1,5})\).{0,300}refused/,
    says: 'a prefill rank registered before the bootstrap server of its own engine listened at port $1: nothing is sent from it',
    why: 'SGLang starts that server while its schedulers load, and before pull request 25125 (May 2026) a rank registers once and never again. A model that loads in a few seconds is ready first. Decode engines get the answer that the prefill engine is not fully registered.',
    cure: 'Run a SGLang after May 2026 on the prefill engines, which tries again; until then restart the prefill engine until this line is gone from its start (a model that is larger, or on a slower disk, does not meet it)',
    commands: ['kubectl logs PREFILL | grep -nE "register to bootstrap|BootstrapServer started"'],
  },
  {
    id: 'sglang_bootstrap_unregistered',
    cause: 'side_channel_unreachable',
    needles: ["int() argument must be a string, a bytes-like object or a real number, not 'NoneType'"],
    below: [
      'disaggregation/common/conn.py',
      'disaggregation/mooncake/conn.py',
      'disaggregation/nixl/conn.py',
    ],
    says: 'a decode engine asked the bootstrap server before the ranks of its prefill engine had registered there',
    why: 'The server listens before the first rank of the prefill engine has said what it is, and answers such a question with an error in SGLang before March 2026 (pull request 19288). Later ones answer 503 until all ranks are there, and decode engines ask again.',
    cure: 'Send requests only when the prefill engine is ready (GET /health_generate answers 200 before the router gets its URL; readinessProbe on it), or run a SGLang of March 2026 or later on both roles',
    commands: ['kubectl exec DECODE -- curl -sS -m 3 http://PREFILL:8998/health'],
  },
  {
    id: 'sglang_bootstrap_ranks_disagree',
    cause: 'transfers_fail',
    needles: ['assert poll == KVPoll.WaitingForInput or poll'],
    follows: ['sglang_bootstrap_timed_out'],
    says: 'a prefill engine of SGLang with pipeline parallelism has ended: its stages did not agree which requests can begin',
    why: 'Each stage asks for itself whether a request has come through its bootstrap. Where one stage sees it come or gives it up and the next one does not yet, an assertion of pop_bootstrapped ends the scheduler. Decode engines that are slow or full make that likely.',
    cure: 'Run a later SGLang on both roles (since December 2025, pull request 14494, later stages ask first; 0.5.23 has them decide together), or start the prefill engines with --pp-size 1; and see that decode engines have free KV blocks',
    commands: ['kubectl logs PREFILL | grep -nE -m5 "timed out after|bootstrap failed"'],
  },
];
