import type { KnownFault } from './known-fault.js';

/** vLLM's connector over MoRI: `vllm/distributed/kv_transfer/kv_connector/v1/moriio`. */
export const VLLM_MORIIO: readonly KnownFault[] = [
  {
    id: 'moriio_send_queue_full',
    cause: 'transfer_path_broken',
    needles: ['READ send queue stayed full past transfer_timeout'],
    says: "MoRIIO's send queue stays full: a decode engine cannot post its reads of KV blocks",
    why: 'Reads of a transfer wait in the send queue of its RDMA queue pair. With one queue pair for each transfer, the default, long prompts or many at a time fill it, and the request fails after transfer_timeout.',
    cure: 'Raise qp_per_transfer in kv_connector_extra_config of --kv-transfer-config on both roles (1 by default), or lower --max-num-seqs of the decode engine',
    commands: [
      '--kv-transfer-config \'{"kv_connector":"MoRIIOConnector", …, "kv_connector_extra_config":{"qp_per_transfer":4}}\'    # on both roles',
    ],
  },
  {
    id: 'moriio_blocks_never_came',
    cause: 'transfers_fail',
    needles: [
      'adjust with kv_connector_extra_config.transfer_timeout',
      'kv_connector_extra_config.recv_abort_timeout=',
    ],
    says: 'MoRIIO waits for KV blocks of a prefill engine until its time limit',
    why: 'The decode engine gives the request up when its blocks did not come in time. A prefill engine that is overloaded, has restarted or cannot reach the notify port of this one looks like that.',
    cure: "Read the prefill engine's log at that time (kubectl logs PREFILL --since=15m); where it is only slow, add prefill engines, or raise transfer_timeout and recv_abort_timeout in kv_connector_extra_config",
    commands: ['kubectl logs PREFILL --since=15m | grep -m5 -nE "ERROR|MoRI"'],
  },
];
