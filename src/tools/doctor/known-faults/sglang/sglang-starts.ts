import type { KnownFault } from '../known-fault.js';

/** Sizes, ports and kernels with which SGLang's engines do not start: 0.4.6 to 0.5.23. */
export const SGLANG_STARTS: readonly KnownFault[] = [
  {
    id: 'sglang_mooncake_pool_type',
    cause: 'settings_refused',
    needles: ['Unsupported custom mem pool type: '],
    pattern: /Unsupported custom mem pool type: (\S{1,40})/,
    says: 'SGLANG_MOONCAKE_CUSTOM_MEM_POOL has a kind of memory that SGLang does not know: $1',
    why: 'The pool makes the KV cache of memory that Mooncake sends over NVLink or Barex.',
    cure: 'Set SGLANG_MOONCAKE_CUSTOM_MEM_POOL to NVLINK, BAREX or INTRA_NODE_NVLINK on both roles, or unset it',
  },
  {
    id: 'sglang_hicache_direct_layout',
    cause: 'settings_refused',
    needles: ["for io backend 'direct'"],
    pattern: /Unsupported layout '?(\w{1,40})'? for io backend 'direct'/,
    says: 'the host cache in the layout $1 is not copied by --hicache-io-backend direct',
    why: 'Direct copies take a layer or a page in one piece: layer_first and page_first_direct.',
    cure: 'Set --hicache-mem-layout page_first_direct, or --hicache-io-backend kernel',
  },
  {
    id: 'sglang_prefill_round_robin',
    cause: 'settings_refused',
    needles: ['Prefill round robin balance is required when dp size > 1'],
    says: 'a decode engine with data parallelism needs prefill engines that take ranks in turn',
    why: 'Up to 0.5.5 decode engines count on the rank that follows from the room of a request, which that method gives, and have to be started for it.',
    cure: 'Start the decode engines with --prefill-round-robin-balance, and the prefill engines with --load-balance-method round_robin',
  },
  {
    id: 'sglang_nodes_of_replicas',
    cause: 'settings_refused',
    needles: [
      'multi-node data parallel is not supported unless dp attention',
      'multi-node data-parallel replicas are not supported',
    ],
    says: 'an engine over several nodes has --dp-size without data parallel attention',
    why: 'Whole replicas are started within one node. Over nodes only attention is divided by data parallelism.',
    cure: 'Add --enable-dp-attention, or start one engine for each node and let the router divide requests',
  },
  {
    id: 'sglang_dist_init_addr',
    cause: 'settings_refused',
    needles: ['please provide --dist-init-addr as host:port of head node'],
    says: 'an engine over several nodes is not given the address of its first node',
    why: 'Ranks find each other there. Prefill engines also run their bootstrap server there.',
    cure: 'Set --dist-init-addr NODE_0:PORT to the same value on all nodes of the engine',
    disturbs: 'all_workers',
  },
  {
    id: 'sglang_stages_and_overlap',
    cause: 'settings_refused',
    needles: ['Pipeline parallelism is not compatible with overlap schedule'],
    says: 'an engine with --pp-size has a scheduler or a feature that stages do not go with',
    why: 'Stages run one after the other and exchange their batches, which the overlap scheduler, drafts and mixed chunks do not follow in this version.',
    cure: 'Add --disable-overlap-schedule, and take --speculative-algorithm and --enable-mixed-chunk out; or set --pp-size 1',
  },
  {
    id: 'sglang_backend_of_gpu',
    cause: 'settings_refused',
    needles: [
      'TRTLLM MHA backend is only supported on Blackwell GPUs',
      'TRTLLM MLA backend is only supported on Blackwell GPUs',
      'TRTLLM MHA backend for prefill is only supported on Blackwell GPUs',
      'TRTLLM MHA backend for prefill requires Hopper',
      'TRTLLM MHA backend for decode is only supported on Hopper',
    ],
    says: 'the attention backend of TensorRT-LLM has no kernels for this GPU',
    why: 'Its pages of 16, 32 or 64 tokens are no reason to keep it: other backends take a --page-size too.',
    cure: 'Set --attention-backend fa3 on Hopper, or flashinfer, with the --page-size that router and pair have',
  },
];
