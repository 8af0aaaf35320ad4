import { describe, expect, it } from 'vitest';
import {
  namedPathFault,
  pathFaultIn,
  pathFaultSays,
} from '../../../../../src/tools/doctor/logs/general/path-faults.js';
import {
  pathFaultValue,
  readPathFault,
} from '../../../../../src/tools/doctor/logs/general/seen-path-faults.js';
import { libraryOf } from '../../../../../src/tools/doctor/logs/general/transfer-libraries.js';

describe('what fails below a transfer', () => {
  it('has the card of a line that is of one card alone', () => {
    const line =
      'ib_mlx5_dv.c:452  UCX  ERROR   mlx5dv_devx_obj_create(CQ) failed on mlx5_1, syndrome 0x2aac7c';
    const value = pathFaultValue('queues', line);
    expect(value).toBe('the network card refuses to create queues, on mlx5_1 (UCX)');
    expect(readPathFault(value)).toMatchObject({ id: 'queues', card: 'mlx5_1', library: 'UCX' });
  });

  it.each([
    ['ibv_reg_mr failed: Cannot allocate memory', 'memory cannot be registered'],
    ['No matched device found: mlx5_9', 'no network device that it can use'],
    [
      '0x7f: VRAM memory is detected as host by UCX. UCX is likely not configured with CUDA/ROCm support.',
      'UCX does not know the memory of GPUs',
    ],
    [
      '8 NVIDIA GPU(s) were detected, but UCX CUDA support was not found!',
      'UCX does not know the memory of GPUs',
    ],
    [
      "transport 'cuda_ipc' is not available, please use one or more of: tcp",
      'UCX does not know the memory of GPUs',
    ],
    [
      'Failed to deserialize rail endpoints with prefix: data',
      'the two sides have other backends or other numbers of network devices',
    ],
    ['EFA internal error: (4111) RMA address verification failed', 'EFA refuses what is sent'],
    [
      '[Handshake] Failed to modify QP to INIT: Invalid argument [22]',
      'the ports of the two network cards do not fit: GID, MTU or subnet',
    ],
    ['Failed to invoke HcclBatchPut, hccl_result = 1', 'the NPUs could not transfer (HCCL)'],
    ['Unexpected UCX error: Request canceled', 'the other engine is gone or is not reached'],
    [
      'connect(fd=120, dest_addr=10.0.0.7:34313) failed: Connection refused',
      'the other engine is gone or is not reached',
    ],
    ['Failed to register buffer to Mooncake Store, error code: -1', 'memory cannot be registered'],
    ['cuIpcOpenMemHandle failed: invalid device context', 'GPUs cannot map the memory of each other'],
    [
      '[node-1:76439:0:78030] cuda_ipc_cache.c:263  Fatal: dest:76435: failed to open ipc mem handle. addr:0x7f41ca000000 len:56736 (Element already exists)',
      'GPUs cannot map the memory of each other',
    ],
    ['transport retry counter exceeded', 'the other engine is gone or is not reached'],
    ['something else', 'the backend reports an error'],
  ])('of %j is %s', (sentence, fault) => {
    expect(pathFaultSays(namedPathFault(sentence) ?? 'backend_error')).toBe(fault);
  });

  it.each([
    [
      "E0721 08:06:26.78 4330 nixl_agent.cpp:866] createXferReq: metadata for remote agent 'def7d2f1' not found",
      'peer_gone',
    ],
    ['srd_iface.c:221  UCX  ERROR send completion[0] with error: Work Request Flushed Error', 'peer_gone'],
    ['ionic_comp_msn:1277: cqe with error 12 for 0x1 (msn), qpid 2048 cqid 2049', 'peer_gone'],
    ['Failed to open device mlx5_8 on port  with GID -1', 'gid'],
    [
      'ib_mlx5_dv.c:452  UCX  ERROR   mlx5dv_devx_obj_create(CQ) failed on mlx5_1, syndrome 0x2aac7c',
      'queues',
    ],
    ['gdaki.c:397  UCX  ERROR   gdaki channel chunk init: create_cq/qp failed (ch=2 ep=4)', 'gpu_queues'],
    [
      "nixl_agent.cpp:359] createBackend: backend 'UCX' encountered error during intra-agent transfer setup with status NIXL_ERR_BACKEND",
      'backend_unready',
    ],
    [
      'tcp_transport.cpp:223] Session::readBody failed. Attempt to read data 0xff using buffer 0xff. Error: End of file (value: 2)',
      'tcp_closed',
    ],
    [
      'tcp_transport_session_impl.h:628] ClientSession::readBody failed. Attempt to read data 0xff using buffer 0xff. Error: Connection timed out (value: 110)',
      'peer_gone',
    ],
    [
      'tcp_transport_lane_impl.h:938] TCP lane connection to 10.0.0.7:15428 failed: Connection refused (attempt failure 1)',
      'peer_gone',
    ],
    ['Failed to open device mlx5_8 on port  with GID 0', 'no_device'],
    ['Call llm::HcclAdapter::GetInstance().HcclCommPrepare(comm, &config) fail, ret: 0x13', 'npu_connection'],
    [
      'Failed to connect to target: 10.0.0.7:20064, status: 503900, errmsg: E19999: Inner Error!',
      'npu_connection',
    ],
    ['Failed to connect to target: 10.0.0.7:25482, status: 103900', 'peer_gone'],
    ['Transfer timeout to: 10.0.0.7:20064', 'too_slow'],
    [
      'cuda_ipc_md.c:219  UCX  ERROR cuIpcGetMemHandle(legacy_handle, (CUdeviceptr)addr) failed: invalid argument',
      'gpu_export',
    ],
    [
      'cuda_ipc_cache.c:173  UCX  ERROR cuIpcOpenMemHandle(mapped_addr) failed: invalid device context',
      'gpu_mapping',
    ],
    ['SQ full (batch): ep=0 depth=4351 requested=1 max=4351', 'send_queue'],
    ['SQ full timeout (notify): ep=0 depth=4351 max=4351 after 100000 yields', 'send_queue'],
    ['SQ request exceeds capacity (batch): ep=1 requested=9000 max=4351', 'send_queue'],
    ['loadRemoteMD: no common backend found', 'no_common_backend'],
    [
      'RegisterRdmaMemoryRegion failed! addr:0x73, size:36, accessFlag:15, errno:22 (Invalid argument)',
      'memory_atomics',
    ],
    ['ibv_reg_mr(pd=0x5, buf=0x7f, len=4096) failed: Bad address', 'memory_of_gpu'],
    ['efa_mr_regattr():1060<warn> Unable to register MR: Bad address', 'memory_of_gpu'],
    ["Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)", 'memory_limit'],
    ['cuMemCreate failed: CUDA_ERROR_NOT_PERMITTED', 'fabric_handles'],
    ['getaddrinfo failed for decode-0: Name or service not known', 'name_unresolved'],
    ['[TRT-LLM] a previous transfer left the buffer pool poisoned.', 'poisoned'],
  ])('of %j is %s', (line, id) => {
    expect(namedPathFault(line)).toBe(id);
  });

  it.each([
    'getaddrinfo failed: Name or service not known',
    'Failed to connect to remote host',
    'cuMemCreate failed: CUDA_ERROR_NOT_PERMITTED',
    'cudaIpcGetMemHandle failed: invalid argument',
    'io_uring: SQ full (256 entries), submitting',
  ])('is not in %j of any other program', (sentence) => {
    expect(pathFaultIn(sentence)).toBeUndefined();
  });

  it('keeps the network cards of both sides and the library', () => {
    const value = pathFaultValue(
      'peer_gone',
      'worker_pool.cpp:294] Worker: Process failed for slice (local_nic: rdma5, peer_nic: 10.42.13.39:16160@rdma0, retry_cnt: 0): transport retry counter exceeded',
    );
    expect(value).toBe(
      'the other engine is gone or is not reached, from rdma5 here to rdma0 there (Mooncake over RDMA)',
    );
    expect(readPathFault(value)).toMatchObject({
      id: 'peer_gone',
      library: 'Mooncake over RDMA',
      cards: ['rdma5', 'rdma0'],
    });
  });

  it.each([
    ['Failed to connect to target: 172.17.0.16:25482, status: 103900', '172.17.0.16'],
    ['Failed to connect to segment: 127.0.0.1:16584', '127.0.0.1'],
    ['Failed to connect to target: 10.172.17.4:25482', undefined],
  ])('reads whether the address of %j leads out of its host', (line, address) => {
    expect(readPathFault(pathFaultValue('peer_gone', line)).hostAddress).toBe(address);
  });

  it('takes the longest of the faults that begin alike', () => {
    const value = pathFaultValue('memory_limit', 'UCX  ERROR ibv_reg_mr: Please set max locked memory');
    expect(readPathFault(value)).toMatchObject({ id: 'memory_limit', library: 'UCX' });
    expect(readPathFault('memory cannot be registered')).toMatchObject({ id: 'memory', library: undefined });
  });
});

describe('the library of a line', () => {
  it.each([
    ['E0804 01:27:56.8 150938 transfer_executor_base.cpp:263] Failed to connect to target', 'Ascend'],
    ['E0115 05:20:19.9 309 rdma_transport.cpp:662] RdmaTransport: No available RNIC', 'Mooncake over RDMA'],
    ['E0613 02:47:42.4 1555 tcp_transport.cpp:136] TcpTransport: writeBody failed', 'Mooncake over TCP'],
    ['E0613 02:47:42.4 1555 transfer_metadata.cpp:136] Cannot get segment desc', 'Mooncake'],
    ['W0613 08:28:11.5 7053 ucx_utils.cpp:43] Unexpected UCX error: Endpoint timeout', 'UCX'],
    ['E0613 08:28:11.5 7053 nixl_agent.cpp:866] createXferReq: no potential backend', 'NIXL'],
    ['E0613 08:28:11.5 7053 libfabric_rail.cpp:866] CQ read failed', 'libfabric'],
    ['[application] [error] RegisterRdmaMemoryRegion failed!', 'MoRI'],
    ['E0613 08:28:11.5 7053 nvlink_transport.cpp:86] cuMemMap failed', 'NVLink'],
    ['something else', undefined],
  ])('%j is %s', (line, library) => {
    expect(libraryOf(line)).toBe(library);
  });
});
