import type { KnownFault } from '../known-fault.js';

/** Calls of NIXL's Python API that failed, by their line in a traceback: `nixl/_api.py`, 0.1 to 1.5. The error itself is the same for all: NIXL_ERR_BACKEND, NIXL_ERR_NOT_FOUND. */
export const NIXL_CALLS: readonly KnownFault[] = [
  {
    id: 'nixl_call_registers_memory',
    cause: 'transfer_path_broken',
    needles: ['self.agent.registerMem('],
    says: 'NIXL cannot register the memory of the KV cache (registerMem)',
    why: 'Its UCX backend does not take memory of the GPU. As a rule another UCX than that of the wheel is loaded (of HPC-X or the system, one without CUDA), or UCX_TLS leaves cuda_copy out; on RDMA the limit of locked memory is the other reason.',
    cure: 'Take other UCX libraries out of LD_LIBRARY_PATH so that NIXL loads those of its wheel (nixl.libs), or build NIXL against the one that is to be used (pip install . --config-settings=setup-args="-Ducx_path=/usr/local/ucx" in its sources); unset UCX_TLS or put cuda_copy into it, and run the container with --ulimit memlock=-1',
    commands: [
      'ldconfig -p | grep libucp; env | grep -E "^UCX_|LD_LIBRARY_PATH"',
      'ucx_info -d | grep cuda_copy    # listed by a UCX with CUDA',
    ],
  },
  {
    id: 'nixl_call_creates_backend',
    cause: 'transfer_path_broken',
    needles: ['self.agent.createBackend('],
    says: 'NIXL cannot start its backend (createBackend)',
    why: 'The plugin is there, and its library does not start: a UCX without threads (--enable-mt), one of another version that comes first in the search path, or a network device that is named and does not exist.',
    cure: 'Take other UCX libraries out of LD_LIBRARY_PATH so that NIXL loads those of its wheel, or build UCX with --enable-mt --with-cuda; unset UCX_NET_DEVICES and UCX_TLS for a try',
    commands: [
      'ldconfig -p | grep libucp; ucx_info -b | grep -E "ENABLE_MT|HAVE_CUDA"',
      'UCX_LOG_LEVEL=info NIXL_LOG_LEVEL=INFO    # in the env of the engine: its lines before the traceback name the reason',
    ],
  },
  {
    id: 'nixl_call_prepares_blocks',
    cause: 'transfer_path_broken',
    needles: [
      'self.agent.prepXferDlist(',
      'prepXferDlist: failed to prepare the descriptors for any of the specified',
    ],
    says: 'NIXL finds the addresses of KV blocks in no memory that is registered (prepXferDlist)',
    why: 'A list of blocks is checked against the memory that this agent registered, or that the other agent sent in its metadata. An engine and a NIXL of different releases count regions differently, and a backend that did not take the memory leaves it unregistered. SGLang before its PRs 30997 and 31968 counts the blocks of an attention cache by the tensor parallelism of the other role, and misses where one role has --enable-dp-attention and the other has not.',
    cure: 'Run the same image of the engine, with the NIXL that it came with, on all hosts of both roles (pip list | grep -i nixl), with the same tensor parallelism and in SGLang the same --enable-dp-attention in both, and unset UCX_TLS so that its backend takes memory of the GPU',
    commands: [
      'kubectl exec POD -- sh -c "pip list | grep -iE \'nixl|vllm|sglang\'; env | grep ^UCX_"    # the same on each host',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'nixl_agent_invalidated',
    cause: 'transfers_fail',
    needles: [
      'was invalidated in between prepXferDlist and this call',
      "' was invalidated after transfer request creation",
      "' was invalidated during transfer",
    ],
    pattern: /remote agent '([^']{1,120})' was invalidated/,
    isSign: true,
    says: 'NIXL dropped the other engine ($1) between the preparation of a transfer and its end',
    why: 'The engine forgets another one as that ends, restarts or stops to answer (invalidateRemoteMD), and lists of blocks that were prepared for it are void.',
    cure: 'Look at the other engine at that time (kubectl get pods: restarts; the end of its earlier log); where further transfers with it fail, restart this engine as well',
    commands: ['kubectl get pods -o wide; kubectl logs OTHER --previous | tail -30'],
  },
  {
    id: 'nixl_obj_moves_nothing',
    cause: 'offload_failed',
    needles: [
      'putObjectAsync ',
      'getObjectAsync ',
      'putObjectRdmaAsync: ',
      'getObjectRdmaAsync: ',
      'putBlobAsync error',
      'getBlobAsync error',
    ],
    pattern:
      /(?:put|get)(?:Object(?:Rdma)?|Blob)Async(?: \(CRT\)| bucket\/endpoint)? ?(?:error: |: (?:Put|Get)ObjectAsync failed - )(.{3,100})/,
    says: "NIXL's object storage does not take or give blocks: $1",
    why: 'The store was reached as the engine started, and refuses this call: keys that may not write, a bucket that is gone, a bound of requests, or a network that breaks.',
    cure: 'Give the keys of the backend the right to read, write and list in its bucket or container, and repair what the store says ($1)',
    commands: [
      'aws s3 cp /etc/hostname s3://BUCKET/probe --endpoint-url ENDPOINT    # from the pod of the engine, with the same keys',
    ],
  },
];
