import type { KnownFault } from '../known-fault.js';

/**
 * Which KV blocks of a prompt the servers of a TensorRT-LLM pair move: `_torch/disaggregation/native/{transfer,peer}.py` and
 * `mixers`, 1.1 to 1.3, and `batch_manager/cacheFormatter.cpp`.
 */
export const TRTLLM_BLOCKS: readonly KnownFault[] = [
  {
    id: 'trtllm_block_lists_differ',
    cause: 'transfers_fail',
    needles: ['exceeds total slice blocks', 'src/dst block count mismatch: ', 'Number of regions of src('],
    pattern:
      /(?:block list|block count mismatch:|regions of src)[ (]{1,2}(\d{1,9})\)? (?:exceeds total slice blocks|vs|and dst)[ (]{1,2}(\d{1,9})/,
    says: 'transfers of TensorRT-LLM fail: context and generation servers list different numbers of KV blocks of a prompt ($1 and $2)',
    why: 'Each side lists the blocks of a prompt, and they have to be as many. Speculative decoding (MTP, Eagle) reserves blocks behind the prompt for draft tokens, which releases before summer 2026 list too; another tokens_per_block or max_attention_window on one side does the same. The context server drops the request, and the generation server waits for its blocks until kv_transfer_timeout_ms.',
    cure: 'Give context and generation servers the same speculative_config (or none on both), tokens_per_block and max_attention_window, or run a later TensorRT-LLM on both, whose lists end with the prompt; restart both',
    commands: [
      'grep -nE "speculative_config|num_nextn_predict_layers|tokens_per_block|max_attention_window" CONTEXT.yaml GENERATION.yaml',
      'kubectl logs CONTEXT | grep -m3 "Sender: error"',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_pipelined_with_context_parallel',
    cause: 'settings_refused',
    needles: ['enable_pipelined_transfer is not supported with'],
    pattern: /\(sender cp_size=(\d{1,4}), receiver cp_size=(\d{1,4})\)/,
    says: 'TensorRT-LLM does not send a prompt in parts to servers with context parallelism ($1 here, $2 there)',
    why: 'With enable_pipelined_transfer each chunk of a prompt is sent as it is computed, and context parallelism divides a prompt by other borders. The request is dropped.',
    cure: 'Delete enable_pipelined_transfer under cache_transceiver_config in the engine files of both roles, or set context_parallel_size: 1 in both',
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_formatter_blocks',
    cause: 'transfers_fail',
    needles: ['Assertion failed: blockNum > 0', 'Assertion failed: cacheBlockSizeSum % targetNum'],
    pattern: /cacheFormatter\.cpp/i,
    says: "TensorRT-LLM's C++ transceiver has no KV blocks of a prompt to move, or a number that the ranks of the other side cannot divide",
    why: 'It moves the blocks that the request has newly been given, and with block reuse there may be none. Parallel sizes of which neither is a multiple of the other leave parts of blocks.',
    cure: 'Set TRTLLM_DISABLE_SELECTIVE_CACHE_TRANSFER=1 in the env of both roles, or enable_block_reuse: false under kv_cache_config of the generation servers, and give both roles parallel sizes of which one divides the other',
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_windows_not_alternate',
    cause: 'pair_incompatible',
    needles: ['only support Alternate Window'],
    says: "TensorRT-LLM's C++ transceiver cannot pair servers of different pipeline_parallel_size for this model: its attention windows do not alternate",
    why: 'With another division into stages it finds the layers of a window by their order, and for that windows have to repeat layer by layer.',
    cure: 'Start context and generation servers with the same pipeline_parallel_size',
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_sender_dropped_request',
    cause: 'transfers_fail',
    needles: ['Sender: error handling REQUEST_DATA: '],
    pattern: /error handling REQUEST_DATA: (.{1,110})/,
    follows: [
      'trtllm_block_lists_differ',
      'trtllm_pipelined_with_context_parallel',
      'trtllm_peer_block_size',
      'trtllm_peer_dtype',
      'trtllm_peer_model',
      'trtllm_peer_context_parallel',
      'trtllm_peer_half_bytes',
    ],
    says: 'a context server of TensorRT-LLM drops requests of generation servers: $1',
    why: 'A generation server says where its blocks go, and the context server cannot make a transfer of that. Nothing is sent, and the generation server waits until kv_transfer_timeout_ms.',
    cure: 'Repair what the line says ($1): as a rule the two roles differ in release, model, tokens_per_block, speculative_config or parallel sizes; restart both',
    commands: ['kubectl logs CONTEXT | grep -m5 "Sender: error"'],
    disturbs: 'all_workers',
  },
  {
    id: 'trtllm_transfer_voted_failed',
    cause: 'transfers_fail',
    needles: ['Disagg KV cache transfer error'],
    isSign: true,
    follows: [
      'trtllm_block_lists_differ',
      'trtllm_pipelined_with_context_parallel',
      'trtllm_sender_dropped_request',
    ],
    says: 'requests fail on TensorRT-LLM servers, for the transfer of their KV blocks failed on some rank',
    why: 'The ranks vote on requests whose transfer failed, and end them on all. The reason stands before it on that rank, or in the log of the other side: a request that a context server dropped, a time limit, an error of NIXL. Single ones are requests that a client gave up.',
    cure: 'Read the logs of context and generation servers for the time of the line and repair what the first error says',
    commands: [
      'kubectl logs CONTEXT --since=15m | grep -m5 -nE "Sender: error|transfer agent failed|NIXL|timeout"',
      'kubectl logs GENERATION --since=15m | grep -m5 -nE "Receiver|transfer agent failed|NIXL|timeout"',
    ],
    disturbs: 'nothing',
  },
];
