import { describe, expect, it } from 'vitest';
import { signalsOf, summaryOf } from '../summaries.js';

const faultsOf = async (line: string): Promise<readonly string[]> => {
  const { signals } = await summaryOf(`${line}\n`);
  return [...(signals.get('offload_failed')?.values.keys() ?? [])];
};

describe('LMCache that switches itself off', () => {
  const MARKED =
    '[2026-06-17 11:21:22,234] LMCache ERROR: LMCacheEngine marked as init failed: Traceback (most recent call last):';
  const FRAME =
    '  File "/opt/venv/lib/python3.12/site-packages/lmcache/v1/storage_backend/local_disk_backend.py", line 131, in __init__\n    os.makedirs(self.path)';
  const EXCEPTION = "PermissionError: [Errno 13] Permission denied: '/mnt/kv'";
  const DEGRADED = '. System will operate in degraded mode (recompute). (manager.py:235:lmcache.v1.manager)';

  it('says the exception of its traceback', async () => {
    expect(await faultsOf([MARKED, FRAME, EXCEPTION, DEGRADED].join('\n'))).toContain(
      `LMCache switched itself off at its start: ${EXCEPTION}`,
    );
  });

  it('says that it was one where the log does not have it', async () => {
    expect(await faultsOf(MARKED)).toEqual(['LMCache switched itself off at its start by an exception']);
  });

  it('does not say an exception that stands further above', async () => {
    const lines = [
      MARKED,
      FRAME,
      EXCEPTION,
      ...Array.from({ length: 6 }, () => 'INFO: another line'),
      DEGRADED,
    ];
    expect(await faultsOf(lines.join('\n'))).toEqual([
      'LMCache switched itself off at its start by an exception',
    ]);
  });
});

describe('a line of a cache behind an engine', () => {
  it.each([
    [
      'LMCache ERROR: Timeout occurred for rank 3, recreating all sockets. Error: Resource temporarily unavailable (zmq_transport.py:121:x)',
      "LMCache's lookup gets no answer in time from rank 3",
    ],
    [
      'LMCache ERROR: Memory allocation timed out after 30.0s (utils.py:70:lmcache.v1.storage_backend.pd_utils)',
      "LMCache's transfer buffer (pd_buffer_size) had no room in time",
    ],
    [
      'LMCache WARNING: Failed to allocate memory object, retrying... (p2p_backend.py:400:lmcache.v1.storage_backend.p2p_backend)',
      'LMCache has no room for the blocks of its peers',
    ],
    [
      '[2025-05-15 15:48:41.233] [infini] [error] [libinfinistore.cpp:910] Please register memory first',
      'InfiniStore does not have the memory of the engine registered',
    ],
    [
      '[2025-05-15 15:48:41.233] [infini] [\u001b[31m\u001b[1merror\u001b[m] [libinfinistore.cpp:269] Failed to connect to server',
      'InfiniStore is not reached',
    ],
    [
      '[2025-05-15 15:48:41.233] [infini] [error] [ibv_helper.cpp:106] Failed to find GID index',
      'InfiniStore cannot use its network device',
    ],
    [
      '[2025-05-15 15:48:41.233] [infini] [error] [mempool.cpp:30] Failed to allocate memory pool',
      'InfiniStore has no room',
    ],
    [
      'Failed to put to offloading service: Status(error_code=StatusCodes.OUT_OF_MEMORY, value=None)',
      "AIBrix's KVCache has no room",
    ],
    [
      'Failed to get from offloading service: Status(error_code=StatusCodes.TIMEOUT, value=None)',
      "AIBrix's KVCache answers too late",
    ],
    [
      'Transfer size (220) exceeds bounce buffer capacity (128). Ensure DYN_KVBM_TRANSFER_BATCH_SIZE <= bounce buffer slot size.',
      'KVBM moves more blocks at a time than its buffer has (128)',
    ],
    [
      '2026-11-20T10:00:00Z ERROR kvbm::block_manager::vllm::connector::leader::slot: LocalOnboardTask: error processing request: Other(copy failed)',
      'KVBM does not move its blocks',
    ],
    [
      '{"time":"2026-11-20T10:00:00Z","level":"ERROR","target":"kvbm::block_manager::vllm::connector::leader::slot","message":"LocalOnboardTask failed: copy failed"}',
      'KVBM does not move its blocks',
    ],
    [
      '2026-11-20T10:00:00Z ERROR kvbm_engine::offload::pipeline: BlockTransferExecutor: transfer failed: no space',
      'KVBM does not move its blocks',
    ],
    [
      'E1120 10:00:00.123456  7053 posix_backend.cpp:245] POSIX path-mode open failed: Permission denied',
      'NIXL cannot use its folder on disk',
    ],
    [
      'E1120 10:00:00.123456  7053 linux_aio_io_queue.cpp:164] AIO operation failed: No space left on device',
      'NIXL has no room on its disk',
    ],
    [
      'E1120 10:00:00.123456  7053 gds_mt_backend.cpp:125] GDS_MT: cuFileRead failed: Input/output error',
      'NIXL does not read or write by GPUDirect Storage',
    ],
    [
      'E1120 10:00:00.123456  7053 hf3fs_utils.cpp:141] Error: hf3fs prep io error: -5',
      'NIXL does not read or write 3FS',
    ],
    [
      'E1120 10:00:00.123456  7053 gds_backend.cpp:152] GDS: missing FILE_SEG metadata at xfer time',
      'NIXL does not move its blocks',
    ],
    [
      'WARNING HiCacheFile: filesystem hosting /data would fall below min_free=10 B after writing 2 B; refusing k to avoid OOM/ENOSPC.',
      'HiCache has no room on its disk',
    ],
    ['[Rank 0] HiCacheHF3FS get 5f failed', 'HiCache does not read or write 3FS'],
    [
      'ERROR 09-01 10:00:00 [thread_pool.py:222] Job 12 block I/O failed: [Errno 28] No space left on device',
      "vLLM's disk cache has no room on its disk",
    ],
    [
      'ERROR 09-01 10:00:00 [thread_pool.py:222] Job 12 block I/O failed: [Errno 13] Permission denied',
      'vLLM cannot use its folder on disk',
    ],
    [
      'Failed to put 2 keys out of 2. type=RuntimeError, error=x. Check network and yuanrong service.',
      "Ascend's KV pool is not reached",
    ],
    ['redis.exceptions.AuthenticationError: NOAUTH Authentication required.', 'Redis refuses the password'],
    [
      '[2026-08-26 10:00:01,101] LMCache WARNING: Connection is None in contains, returning False (remote_backend.py:165)',
      "LMCache's remote store is not reached",
    ],
    [
      '[2026-08-26 10:00:01,101] LMCache WARNING: batched_async_contains timed out (remote_backend.py:537)',
      'LMCache answers too late',
    ],
    [
      '[2026-08-26 10:00:01,101] LMCache ERROR: Failed during post_init: chunk_size must be a multiple of 16. System will operate in degraded mode (recompute).',
      'LMCache switched itself off at its start: chunk_size must be a multiple of 16',
    ],
    [
      'ERROR: failed to connect: dial tcp: lookup valkey-kv on 10.96.0.10:53: no such host',
      'the name of a store does not resolve: valkey-kv',
    ],
    [
      "HTTPConnectionPool(host='mooncake-meta', port=8080): Failed to resolve 'mooncake-meta' ([Errno -2] Name or service not known)",
      'the name of a store does not resolve: mooncake-meta',
    ],
  ])('%j says: %s', async (line, fault) => {
    expect(await faultsOf(line)).toEqual([fault]);
  });

  it.each([
    '[2025-05-15 15:48:41.233] [infini] [warning] [infinistore.cpp:615] Key not found: 5f',
    'Failed to get from offloading service: Status(error_code=StatusCodes.NOT_FOUND, value=None)',
    '[info] Connection to RPC socket failed for endpoint kv:9600 with ret = IOError: connect, retrying 10 more times.',
    'HiCacheFile: value 12 B stored',
    '2026-09-10T10:00:00Z  INFO dynamo_llm::block_manager::distributed::transfer: transfer complete',
    '2026-09-10T10:00:00Z ERROR kvbm::block_manager::vllm::connector::leader::slot: LocalTransferEngine: error sending offload request: SendError',
    '2026-09-10T10:00:00Z ERROR kvbm::block_manager::vllm::connector::leader: main routine receiver dropped before result was sent',
    'W1120 10:00:00.123456  7053 gds_utils.cpp:31] cuFileBufRegister failed - will use compat mode: 5030 (err=5030)',
    'E1120 10:00:00.123456  7053 client.cpp:103] getObjectAsync (CRT) error: Access Denied',
    '{"time":"2026-11-20T10:00:00Z","level":"ERROR","target":"dynamo_llm::block_manager::block::transfer::context","message":"Failed to free pinned buffer 7 (0x7): invalid value"}',
    "Request to the model hub: Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)",
    'socket.gaierror: [Errno -2] Name or service not known',
  ])('%j says nothing', async (line) => {
    expect(await faultsOf(line)).toEqual([]);
  });

  it('sees a name of NATS that does not resolve as one of the control plane', async () => {
    const summary = await summaryOf('Error: dial tcp: lookup dynamo-nats on 10.96.0.10:53: no such host\n');
    expect(signalsOf(summary)).toMatchObject({ control_plane_unreachable: 1 });
  });
});
