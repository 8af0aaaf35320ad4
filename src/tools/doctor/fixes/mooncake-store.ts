import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

/** A client and a master that were built apart. */
export function sameVersions(): ProposedFix {
  return {
    says: 'Give the engines and mooncake_master one version of Mooncake: pip install mooncake-transfer-engine==VERSION in both images',
    why: 'The master does not know a call of its client, or the form of its arguments: between versions they change. The engine goes on without the store.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec POD -- pip list | grep -i mooncake    # in an engine and where mooncake_master runs',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "rpc arg|RPC_FAIL"    # should be 0'],
  };
}

/** A master that takes connections and does not answer in time. */
export function masterInTime(): ProposedFix {
  return {
    says: 'Where mooncake_master runs: more threads (--rpc_thread_num), fewer engines that start at the same time, a smaller global_segment_size; where it does not: start it, with its address (kubectl get svc) and the port of --rpc_port (50051) in the clients, not that of its metrics (9003) or metadata (8080)',
    why: 'A call began and got no answer before its time was over: the log and the CPU of the master at that minute show why. Many clients that mount large segments at the same time occupy the few threads of the master; a client that speaks RDMA (MC_RPC_PROTOCOL=rdma) to a master that does not waits in the same way. The engine does not start, or goes on without the store.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get pods,svc -A | grep -i mooncake    # running, RESTARTS, and under which name',
      'kubectl logs MOONCAKE_MASTER --since=10m | tail -n 50    # what it did at that minute',
      '# arguments of mooncake_master: --rpc_thread_num 16',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "timed out|RPC_TIMEOUT|RPC_FAIL"    # should be 0'],
  };
}

/** A high-availability pair that has no leader. */
export function masterThatLeads(): ProposedFix {
  return {
    says: 'Let the masters elect one: etcd, Redis or the Lease of Kubernetes reachable from each mooncake_master, and one cluster id on masters and clients',
    why: 'Clients ask that backend which master leads. Without a leader nothing is stored or found.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get pods,svc,lease -A | grep -iE "mooncake|etcd|redis"    # running, and who holds the lease',
      'kubectl logs MOONCAKE_MASTER --since=10m | grep -iE "leader|coordinator" | tail -n 20',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "No (active )?master"    # should be 0'],
  };
}

/** Two clients of one name, or one that comes back before the master has dropped the old one. */
export function ownName(): ProposedFix {
  return {
    says: 'Give each store client a name of its own (local_hostname, MOONCAKE_LOCAL_HOSTNAME: the IP of its pod, with a port of its own for each rank), and start one again only after --client_ttl of the master (10 s)',
    why: 'The master keeps the memory of a client under its name. A second one of that name is refused, also the same one after a restart until its old entry has run out: its memory is not part of the store.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      environmentOf('each client', 'MOONCAKE_LOCAL_HOSTNAME', 'status.podIP by the downward API'),
      'kubectl logs MOONCAKE_MASTER --since=10m | grep -iE "already_exists|client_id" | tail    # whose name it is',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -cE "(SEGMENT|CLIENT)_ALREADY_EXISTS"    # should be 0'],
  };
}

/** Memory of a client that its own transport or the master refuses. */
export function memoryOfClient(): ProposedFix {
  return {
    says: 'Give the client a global_segment_size that its network card registers and the master takes (MOONCAKE_GLOBAL_SEGMENT_SIZE: above 0, a multiple of 16 MiB, below max_mr_size of ibv_devinfo -v), with one version of Mooncake on both sides',
    why: 'Master and client reached each other, and the segment was refused: its parameters, or its memory was not registered before. The line above it has the reason, and the log of the master that of its refusal.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -m1 -B10 -i "mount segment"    # what failed before',
      'kubectl logs MOONCAKE_MASTER --since=10m | grep -iE "segment" | tail -n 20    # its reason',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "mount_?.?segment"    # should be 0'],
  };
}

/** Transfers between the clients that hold blocks. */
export function clientsReachEachOther(): ProposedFix {
  return {
    says: 'Let the clients of the store reach each other: restarted ones are in kubectl get pods, MOONCAKE_DEVICE and MC_GID_INDEX choose the network card, MOONCAKE_PROTOCOL=tcp tries it without RDMA',
    why: 'The master only knows where blocks are; clients fetch and write them among themselves. One that has gone, a port that is closed or a device in another subnet fails each block of that client.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl get pods -A -o wide | grep -iE "mooncake|vllm|sglang"    # AGE and RESTARTS of all clients',
      'kubectl logs WORKER | grep -m20 -E "worker_pool|rdma_|tcp_transport|transfer_metadata"    # the error below it',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "TRANSFER_FAIL|Failed to complete transfers|Transfer failed"    # should be 0',
    ],
  };
}

/** A client's disk of which the master has lost sight. */
export function knowDisk(): ProposedFix {
  return {
    says: 'Restart the store clients (or the engines that have them built in): they register their disks as they start. A later Mooncake does so by itself; a longer --client_ttl where the master was not restarted',
    why: 'The master was restarted, or took the client for dead after --client_ttl (10 s by default). Until the client registers again nothing is offloaded to its disk, and what is there is not found; memory goes on.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl get pods -A | grep -i mooncake    # AGE and RESTARTS of the master',
      'kubectl exec POD -- pip list | grep -i mooncake    # the version that is there',
      '# arguments of mooncake_master: --client_ttl 30',
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "SEGMENT_NOT_FOUND|Local disk segment not found"    # should be 0',
    ],
  };
}

/** Offloading that one of the two sides has not switched on. */
export function offloadOnBothSides(): ProposedFix {
  return {
    says: 'Offload on both sides or on neither: mooncake_master --enable_offload=true without --root_fs_dir, and each client with MOONCAKE_OFFLOAD_ENABLED=true and MOONCAKE_OFFLOAD_FILE_STORAGE_PATH',
    why: 'A client writes to its own disk what the master queues for it. Where one of the two does not offload, nothing reaches a disk.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs MOONCAKE_MASTER | grep -m5 -iE "enable_offload|root_fs_dir"    # how it was started',
      'kubectl exec WORKER -- sh -c "env | grep MOONCAKE"',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -c "UNABLE_OFFLOAD"    # should be 0'],
  };
}

/** A client that does not find its own segment in what the master lists. */
export function segmentOfOneName(): ProposedFix {
  return {
    says: 'Run a later Mooncake, or, with several network cards, do without a metadata server: MOONCAKE_TE_META_DATA_SERVER=P2PHANDSHAKE (metadata_server in a file)',
    why: 'The master names keys to offload, and the client finds none of them in its own segment, whose name it compares with that of another of its cards. The SSD stays empty; blocks in memory are found as before.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['kubectl exec POD -- pip list | grep -i mooncake    # the version that is there'],
    verify: [
      'kubectl logs WORKER --since=10m | grep -c "INVALID_KEY"    # should be 0',
      'kubectl logs MOONCAKE_MASTER --since=1m | grep -o "SSD Storage: [^|]*" | tail -n 1    # grows',
    ],
  };
}

/** A disk that writes less than is offloaded to it. */
export function diskInTime(): ProposedFix {
  return {
    says: 'Put MOONCAKE_OFFLOAD_FILE_STORAGE_PATH on a faster disk (local NVMe), offload only what is evicted (mooncake_master --offload_on_evict=true), or offload less',
    why: 'Blocks wait for the disk until their task is over its time, and are dropped. Those that are stored are found.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- iostat -xm 5 2    # the disk is busy to 100 %, and how much it writes',
    ],
    verify: ['kubectl logs MOONCAKE_MASTER --since=10m | grep -c "task expired for key"    # should be 0'],
  };
}

/** Blocks that are not what was stored. */
export function trustNoBlocks(): ProposedFix {
  return {
    says: 'Stop reading from this store until it is empty (restart its clients and the master), and run one later version of Mooncake on all of them',
    why: 'The checksum of a block differs from that with which it was stored: without the check, prompts would have been answered from wrong blocks.',
    disturbs: 'all_workers',
    files: [],
    commands: ['kubectl exec POD -- pip list | grep -i mooncake    # in all clients and at the master'],
    verify: ['kubectl logs WORKER --since=10m | grep -ci "checksum"    # should be 0'],
  };
}
