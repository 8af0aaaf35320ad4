import type { ProposedFix } from '../diagnosis.js';
import type { PathFaultId } from '../logs/general/path-faults.js';
import type { SeenPathFault } from '../logs/general/seen-path-faults.js';
import { CLIENTS_DO_NOT_MOVE } from '../logs/general/store-faults.js';
import type { Measurements } from '../measurements/measurements.js';
import { repairMachine } from './path-machine.js';
import type { SeenStore } from './path-peers.js';
import { reachPeer } from './path-reach.js';

/** What lines of a fault have and others have not, for `grep -E`. */
const WORDS: Readonly<Record<PathFaultId, readonly string[]>> = {
  gpu_memory_unknown: [
    'detected as host',
    'support was not found',
    'not available, please use',
    'failed to select lane',
    'configured with CUDA',
    'memory support',
  ],
  backends_differ: [
    'rail endpoints',
    'Deserialization of tag',
    '_ep_[0-9]+ not found',
    'expected [0-9]+ rails',
    'ail count',
  ],
  no_common_backend: [
    'common backend',
    'potential backend',
    'no backends',
    'deserializ',
    'loading connection info',
    'Handshake from peer',
  ],
  efa_refuses: ['EFA internal error', 'EFA provider', 'Libfabric error', 'RMA address'],
  fabric_handles: ['IMEX', 'FABRIC', 'abric handle', 'cuMem'],
  npu_connection: [
    'HcclComm',
    'init channel',
    'peer process ret status',
    'AdxlEngine',
    'Adxl engine',
    'Failed to connect to',
    'EI0006',
    'hccl_socket',
    'SidedService',
  ],
  npu_transfer: [
    'HcclBatch',
    'HcclException',
    'HcclComm',
    'HcclMem',
    'adxl_',
    'Transfer slice failed',
    'Hccl transport',
  ],
  memory_limit: ['max locked memory', 'ulimit', 'MEMLOCK'],
  memory_atomics: ['RegisterRdmaMemoryRegion'],
  memory_of_gpu: ['ibv_reg', 'egister memory', 'egistering', 'peermem', 'dma_?-?buf', 'GPUDirect RDMA'],
  memory_size: ['egister memory'],
  memory: [
    'register_local_memory_failed',
    'ibv_reg',
    'Failed to register',
    'egister.*fail',
    'egistration failed',
    'fi_mr_reg',
    'registerMem',
    'RegisterRdmaMemoryRegion',
    'Register mem ret',
    'ucp_mem_map',
    'not registered by any',
    'AddressNotRegistered',
    'overlapped memory',
    'ocal protection error',
  ],
  gid: [
    'No suitable GID',
    'with GID',
    'Failed to query GID',
    'gid index',
    'valid GID',
    'GID is',
    'No available RNIC',
  ],
  device_files: ['No available RNIC', 'Failed to open', 'No matched device', 'Skipping unavailable'],
  no_device: [
    'No available RNIC',
    'Failed to open',
    'No matched device',
    'ibv_[a-z_]+.*(fail|error)',
    'No .*(devices?|HCA|NIC)s? (found|available|discovered)',
    'transport',
    'network device',
    'fi_getinfo',
    'Failed to create rails',
    'network providers',
    'Failed to (find|create)',
  ],
  ports_unfit: [
    'Failed to modify',
    'error modifying',
    'ibv_modify_qp',
    'ibv_create_ah',
    'local length error',
    'remote invalid request',
    'path MTU',
  ],
  gpu_queues: ['gdaki', 'mlx5dv_'],
  queues: ['mlx5dv_', 'create_(cq|qp)', 'Failed to create (QP|completion)', 'protection domain'],
  port_down: ['port error', 'catastrophic error', 'Context is not active'],
  gpu_export: ['IpcGetMemHandle'],
  gpu_mapping: [
    'IpcOpenMemHandle',
    'ShareableHandle',
    'cuMemMap',
    'PeerAccess',
    'IPC handle',
    'cuda_ipc.*fail',
    'p2p access',
    'invalid (resource|device)',
  ],
  tcp_gpu_memory: ['Body failed'],
  tcp_closed: ['(Body|Header) failed'],
  agent_refused: ['NIXL_ERR_', 'nixl[A-Za-z]*Error'],
  context_stuck: ['waiting for context KV cache transfer', 'scheduled 0 context'],
  name_unresolved: ['getaddrinfo', 'service not known', 'name resolution', 'resolve', 'Host not found'],
  too_slow: ['Transfer timeout', 'waiting for CQ'],
  send_queue: ['SQ full', 'SQ request exceeds'],
  poisoned: ['buffer pool poisoned'],
  peer_gone: [
    'REMOTE_DISCONNECT|nixlRemoteDisconnect',
    'Work Request Flushed',
    'remote agent',
    'Endpoint timeout',
    'Unexpected UCX error',
    'connect.fd=',
    'ASIO exception: connect',
    'andshake',
    'RDMA ready ACK',
    'retry (count|counter )?.*exceeded',
    'cqe with error',
    'Connection reset',
    'nreachable',
    'tcp_ep|sockcm',
    'No route to host',
    'Connect timeout',
    'ailed to connect',
    'Failed to complete transfers',
    '[Ss]egment desc',
    'reload target segment',
    'connection dead|inactive',
    'packet mismatch',
    'metadata not found',
    'SocketHandShakePlugin',
    'Failed to establish',
    'TCP lane',
    'endpoint',
    'connect to server',
    'in kv cache transfer',
  ],
  prefill_silent: ['Failed to get kvcache from prefill', 'Failed to send kv chunk'],
  backend_unready: ['createBackend', 'backend creation failed', 'intra-agent'],
  backend_error: [
    'UCX +ERROR',
    'NIXL_ERR_',
    'nixl[A-Za-z]*Error',
    'E[0-9]{4,8} .*cpp:',
    '(^| )E [a-z_]+.cpp:',
    'Process failed for slice',
  ],
};

/** Most words of a check. */
const MAX_WORDS = 3;

/** Repairs what lies below a transfer, by the fault and by the library that names it; `line` is one that does. */
export function repairPath(
  fault: SeenPathFault,
  { seen, signal }: Pick<Measurements, 'seen' | 'signal'>,
  line: string,
): readonly ProposedFix[] {
  const isSglang = seen.engines.some(({ word }) => word === 'sglang');
  const cures = repairMachine(fault, isSglang) ?? reachPeer(fault, isSglang, storeOf(signal));
  return cures.map((cure) => ({
    ...cure,
    disturbs: 'one_worker_at_a_time',
    files: [],
    verify: [verifyOf(fault.id, line)],
  }));
}

/** The store whose keys were to be moved: its errors stand beside those of the transfer. */
function storeOf(signal: Measurements['signal']): SeenStore | undefined {
  if (signal('ascend_store_keys') !== undefined) return 'of_npus';
  const isRead = signal('offload_failed')?.values.has(CLIENTS_DO_NOT_MOVE) === true;
  return isRead ? 'of_clients' : undefined;
}

/** Counts lines such as the one that was seen: another word of the fault can stand in lines of health. */
function verifyOf(id: PathFaultId, line: string): string {
  const inLine = WORDS[id].filter((word) => new RegExp(word).test(line)).slice(0, MAX_WORDS);
  const words = inLine.length === 0 ? WORDS[id] : inLine;
  return `kubectl logs POD --since=5m | grep -cE "${words.join('|')}"    # in the pods of both engines: should be 0`;
}
