import type { KnownFault } from '../known-fault.js';

/** kvcached, 0.1 to its main branch of August 2026: GPU memory of KV caches that several engines of a GPU share. */
export const KVCACHED: readonly KnownFault[] = [
  {
    id: 'kvcached_memory_info_gone',
    cause: 'connector_crashed',
    needles: ["No such file or directory: '/dev/shm/"],
    pattern:
      /No such file or directory: '\/dev\/shm\/(kvcached_\w{1,80}|(?:VLLM|SGLANG|vllm|sglang)\w{0,40})'/,
    says: 'The shared memory of kvcached, /dev/shm/$1, is gone, and its engine ends',
    why: 'It is named by KVCACHED_IPC_NAME, and removed by the engine that ends first. Two engines of a host with one name share it, so that the second one loses it.',
    cure: 'Give each engine of a host a KVCACHED_IPC_NAME of its own (KVCACHED_IPC_NAME=VLLM_A, VLLM_B), and restart the engine that ended',
    commands: ['ls -l /dev/shm    # one entry for each engine'],
  },
  {
    id: 'kvcached_worker_socket',
    cause: 'connector_crashed',
    needles: [' failed to check KV tensors created: ', ' failed to map: [Errno '],
    pattern: /Worker (\d{1,4}) failed to (?:check KV tensors created|map): ([^\n]{3,80})/,
    says: 'The scheduler of an engine does not reach its worker $1 by kvcached: $2',
    why: 'The scheduler speaks with each worker over a socket in /tmp/kvcached-tp-NAME. It is not there where kvcached was not patched into the worker process, or where both have other names: no KV cache is then ever mapped.',
    cure: 'Set ENABLE_KVCACHED=true, KVCACHED_AUTOPATCH=1 and one KVCACHED_IPC_NAME in the environment of all processes of the engine, and see that each worker logs "Successfully patched"; with a version of the engine that kvcached does not list start with ENABLE_KVCACHED=false',
    commands: [
      'kubectl logs ENGINE | grep -E "kvcached.*(patch|Patch)"    # all patches, in each process',
      'kubectl exec ENGINE -- sh -c "ls /tmp/kvcached-tp-*"    # w0.sock and so on',
    ],
  },
  {
    id: 'kvcached_nixl_layout',
    cause: 'settings_refused',
    needles: [
      'kvcached NixlConnector requires KVCACHED_CONTIGUOUS_LAYOUT=false',
      'kvcached NixlConnector: unexpected attention KV block stride',
    ],
    says: 'The contiguous layout of kvcached does not go with NixlConnector',
    why: 'Pages of all layers lie among each other there, and NIXL registers the blocks of each layer as one piece.',
    cure: 'Set KVCACHED_CONTIGUOUS_LAYOUT=false on the engines of both roles, and restart them',
    commands: ['kubectl set env deploy/ENGINE KVCACHED_CONTIGUOUS_LAYOUT=false'],
    disturbs: 'all_workers',
  },
  {
    id: 'kvcached_nixl_hybrid',
    cause: 'settings_refused',
    needles: ['PD disaggregation is not supported for hybrid/mamba models on blocks-first vLLM'],
    says: 'With kvcached this hybrid model does not run as a pair of prefill and decode engines',
    why: 'From vLLM 0.23 on the layout of its states would be transferred wrongly.',
    cure: 'Start the engines of this model with ENABLE_KVCACHED=false, or as whole engines without NixlConnector',
    disturbs: 'all_workers',
  },
  {
    id: 'kvcached_not_patched',
    cause: 'library_missing',
    needles: ['Failed to patch vllm: ', 'Failed to patch sglang: '],
    pattern: /Failed to patch (vllm|sglang): ([\w, .-]{3,120})/,
    says: 'The installed kvcached does not fit this $1: it cannot patch $2',
    why: 'It replaces parts of the engine by their names, which other versions of the engine have elsewhere. The engine then takes its memory as without kvcached, or ends.',
    cure: 'Run a version of the engine that this kvcached lists (its README), or a later kvcached (pip install -U kvcached --no-build-isolation), or start with ENABLE_KVCACHED=false',
    commands: ['kubectl exec ENGINE -- pip list | grep -iE "kvcached|^vllm |^sglang "'],
  },
  {
    id: 'kvcached_gpu_full',
    cause: 'cache_memory_missing',
    needles: ['alloc_page() failed after partially allocating'],
    pattern: /partially allocating (\d{1,9}\/\d{1,9}) blocks; rolled back: (?!.{0,80}\[Errno)/,
    atLeast: 20,
    isSign: true,
    says: 'An engine with kvcached gets no further pages of its GPU: other engines have the memory',
    why: 'Engines of one GPU share it, and requests wait while others hold their pages. Once or twice is a burst.',
    cure: 'Limit what the other engines take (kvctl limit IPC_NAME SIZE), lower their KVCACHED_MAX_CACHED_TOKENS, or move one of them to another GPU',
    commands: ['kvctl list    # what each engine holds'],
    disturbs: 'nothing',
  },
];
