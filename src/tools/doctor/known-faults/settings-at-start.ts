import type { KnownFault } from './known-fault.js';

/** Settings as programs report them in one line as they start, of which one does nothing without another. */
export const SETTINGS_AT_START: readonly KnownFault[] = [
  // `create_storage_backends` of `lmcache/v1/storage_backend/__init__.py`: "config.local_disk and config.max_local_disk_size > 0".
  {
    id: 'lmcache_disk_of_no_size',
    cause: 'offload_failed',
    needles: ["'max_local_disk_size': '0", "'max_local_disk_size': 0"],
    pattern:
      /'local_disk': '([^'\n]{1,200})',.{0,300}'max_local_disk_size': (?:'0(?:\.0)? GB'|0(?:\.0)?)(?=[,}])/,
    says: 'LMCache has a folder on a disk ($1), and max_local_disk_size is 0: it stores nothing there',
    why: 'The size is 0 by default, and a disk of that size is left out without a word.',
    cure: 'Set max_local_disk_size (LMCACHE_MAX_LOCAL_DISK_SIZE), in GB of each rank, beside local_disk, and restart the engines',
  },
  {
    id: 'lmcache_has_no_place',
    cause: 'offload_failed',
    needles: ["'local_cpu': False"],
    pattern:
      /(?:Configuration: |config: )\{(?=.{0,600}('local_cpu': False))(?=.{0,900}'local_disk': None)(?=.{0,1200}'remote_url': None)(?!.{0,8000}(?:'enable_(?:nixl|pd|p2p|xpyd)': True|'(?:gds_path|weka_path|nixl_role|pd_role)': '|plugins?': \[.|'extra_config': \{.|'use_gds': True|'remote_storage\w{0,20}': \[.))/,
    says: 'LMCache is to keep nothing in memory ($1), and has no disk and no remote store: it never finds anything',
    why: 'Without memory of its host, a disk or a remote store LMCache has no place for what it is given: the memory that it has is a buffer on the way.',
    cure: 'Set local_cpu: true (LMCACHE_LOCAL_CPU=True) with max_local_cpu_size, or give LMCache a disk (local_disk and max_local_disk_size) or a remote store (remote_url), and restart the engines',
  },
  // Decode engines offload into a storage backend without it (`disaggregation_decode_enable_offload_kvcache`).
  {
    id: 'sglang_store_without_hicache',
    cause: 'offload_failed',
    needles: ["hicache_storage_backend='"],
    pattern:
      /enable_hierarchical_cache=False.{0,900}hicache_storage_backend='(\w{1,40})'(?!.{0,2400}(?:enable_offload_kvcache=True|enable_lmcache=True))/,
    says: 'SGLang is given a store for its hierarchical cache ($1), which is off: nothing is stored there, or found',
    why: '--hicache-storage-backend and the other settings of HiCache are read where --enable-hierarchical-cache is given. Without it SGLang has its radix cache alone, and says nothing.',
    cure: 'Start SGLang with --enable-hierarchical-cache beside --hicache-storage-backend $1',
    commands: ['curl -s http://ENGINE:PORT/get_server_info | tr , "\\n" | grep -E "hierarchical|hicache"'],
  },
  {
    id: 'address_of_another_service',
    cause: 'control_plane_unreachable',
    needles: [
      'mooncakestore://',
      'master_server_address',
      'MOONCAKE_MASTER',
      'NATS_SERVER=nats',
      'ETCD_ENDPOINTS',
    ],
    pattern:
      /(?:(mooncakestore:\/\/[\w.-]{1,200}|(?:master_server_address|MOONCAKE_MASTER)\\?["']?[:= ]{1,4}\\?["']?[\w.-]{1,200}|NATS_SERVER=nats:\/\/[\w.-]{1,200}):(2379|2380|6379)|((?:NATS_SERVER=nats|mooncakestore):\/\/[\w.-]{1,200}):(8222|6222)|(ETCD_ENDPOINTS["']?[:= ]{1,4}["']?http:\/\/[\w.-]{1,200}):(4222|6379))(?!\d)/,
    isSign: true,
    says: 'an address leads to the port of another service: $1$3$5 to $2$4$6',
    why: '2379 is the port of etcd, 6379 of Redis, 4222 of NATS for clients and 8222 for its metrics. What is asked there does not speak the protocol, and nothing is stored or found.',
    cure: "Write the address of the service itself: mooncakestore://MASTER:50051/ and master_server_address MASTER:50051 for Mooncake's master (etcd://HOST:2379 for a master in high availability), nats://NATS:4222, http://ETCD:2379",
    commands: ['kubectl get svc -A | grep -iE "mooncake|nats|etcd|redis"'],
  },
];
