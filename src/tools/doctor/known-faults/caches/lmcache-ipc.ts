import type { KnownFault } from '../known-fault.js';

/** How LMCache's server maps the GPU memory of its engines: `lmcache/v1/platform`, and `custom_types.py` before 0.4.5. */
export const LMCACHE_IPC: readonly KnownFault[] = [
  {
    id: 'lmcache_server_maps_no_gpu',
    cause: 'transfer_path_broken',
    needles: [
      'CUDA error: mapping of buffer object failed',
      'CUDA error: invalid argument',
      'CUDA error: invalid resource handle',
      'CUDA error: invalid device context',
      'CUDA error: invalid device ordinal',
    ],
    pattern: /CUDA error: ([a-z ]{6,40})/,
    below: ['/lmcache/v1/platform/', '/multiprocess/custom_types.py', 'RequestType.REGISTER_KV_CACHE'],
    says: 'The LMCache server cannot map the KV cache of its engine over CUDA IPC ($1): it stores and gives nothing',
    why: "Engine and server exchange a handle of GPU memory, whose counter lies in /dev/shm. They have to be on one node, in one IPC namespace, with one /dev/shm, and both see the GPU. Containers that get their GPU by a claim of NVIDIA's DRA driver do not share it in this way.",
    cure: 'Give engine and LMCache server hostIPC: true (docker: --ipc=host) on one node, no emptyDir at /dev/shm and NVIDIA_VISIBLE_DEVICES=all in the server, then restart both; with DRA, or without hostIPC, run LMCache 0.5.5 or later with lmcache server --isolated-ipc and "lmcache.mp.isolated_ipc": true in kv_connector_extra_config',
    disturbs: 'all_workers',
    commands: [
      'kubectl get pods -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.nodeName} {.spec.hostIPC}{"\\n"}{end}\'',
      'kubectl exec LMCACHE_SERVER -- nvidia-smi -L    # the UUIDs of the engine among them',
    ],
  },
  {
    id: 'lmcache_event_not_opened',
    cause: 'offload_failed',
    needles: ['CUDA error: invalid argument', 'CUDA error: invalid resource handle'],
    below: ['Event.from_ipc_handle('],
    says: "The LMCache server cannot open the event of its engine's store or load: nothing is stored or given",
    why: 'The engine hands over a handle of a CUDA event, and the server opens it. Connectors before LMCache 0.5.0 let go of the event before the server had opened it; without a common IPC namespace and GPU it is never opened.',
    cure: 'Run LMCache 0.5.0 or later in the engine and its server, which keeps the event until the server answers, and give both hostIPC: true (docker: --ipc=host) and sight of the same GPUs',
    disturbs: 'all_workers',
    commands: ['kubectl exec ENGINE -- pip list | grep -i lmcache'],
  },
  {
    id: 'lmcache_isolated_ipc_again',
    cause: 'offload_failed',
    needles: ['CUDA_ERROR_INVALID_CONTEXT'],
    below: ['_reregister_kv_caches', 'in wrap_one_kv_cache'],
    says: 'An engine cannot register again with its restarted LMCache server under isolated IPC: its cache stays off',
    why: 'The heartbeat finds the server again and registers from a thread without a CUDA context, and fails in the same way at each heartbeat until the engine starts again (LMCache 0.5.5).',
    cure: 'Restart the engine after each restart of its LMCache server, or leave isolated IPC out on both sides (lmcache server without --isolated-ipc, no "lmcache.mp.isolated_ipc"), with hostIPC: true in both pods',
    commands: ['kubectl logs ENGINE | grep -c "re-register"    # ends after the restart'],
  },
  {
    id: 'lmcache_experimental_module_off',
    cause: 'settings_refused',
    needles: [' but server does not.'],
    pattern: /Connector enables (\w{1,40}) but server does not\./,
    says: 'The engine asks the LMCache server for $1, which the server was not started with',
    why: 'Experimental transfers are switched on in both: the connector names them in its extra configuration, the server with --enable.',
    cure: 'Start lmcache server with --enable $1, or take $1 out of kv_connector_extra_config, and restart the engine',
    commands: ['kubectl get pods -o yaml | grep -n -A12 "lmcache"    # arguments of the server'],
  },
];
