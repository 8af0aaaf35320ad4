import type { KnownFault } from '../known-fault.js';

/** Mooncake's direct transport between NPUs: `transport/ascend_transport`, `ascend_allocator.cpp`, 0.3.6 to 0.3.12. */
export const ASCEND_TRANSPORT: readonly KnownFault[] = [
  {
    id: 'adxl_engine_not_started',
    cause: 'transfer_path_broken',
    needles: ['Failed to initialize AdxlEngine, status'],
    pattern: /AdxlEngine, status: ?(\d{1,9})/,
    says: "Ascend's engine for direct transfers does not start in this pod (status $1)",
    why: 'It reads the addresses of the NPUs from /etc/hccn.conf, which a container does not have by itself, and needs a CANN that fits the driver of the host. The other engine has no part in it yet.',
    cure: 'Mount /etc/hccn.conf of the host into the container of each engine, with the CANN that the release of Mooncake asks for (8.3 and later) on top of the driver of the host, and read the first ERROR below ~/ascend/log/debug/plog',
    commands: [
      'kubectl exec POD -- sh -c "cat /etc/hccn.conf; cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg"    # an address for each NPU',
      'kubectl exec POD -- sh -c "grep -rhm3 ERROR ~/ascend/log/debug/plog | head"    # the first one has the reason',
    ],
  },
  {
    id: 'ascend_async_missing',
    cause: 'settings_refused',
    needles: ['ASCEND_USE_ASYNC_TRANSFER is set, but async transfer is not available'],
    says: 'ASCEND_USE_ASYNC_TRANSFER asks for transfers that the installed CANN does not have',
    why: 'Asynchronous transfers need CANN 8.5 or later. The transport does not start.',
    cure: 'Install CANN 8.5 or later in both images, or unset ASCEND_USE_ASYNC_TRANSFER on all engines',
  },
  {
    id: 'ascend_modes_exclude',
    cause: 'settings_refused',
    needles: [
      'Buffer pool mode do not support async transfer',
      'Buffer pool and fabric mem mode can not be enabled simultaneously',
    ],
    says: 'ASCEND_BUFFER_POOL does not go with asynchronous transfers, nor with fabric memory',
    why: 'With a pool of buffers each transfer is copied twice, which the other two modes avoid. The transport does not start.',
    cure: 'Unset ASCEND_BUFFER_POOL on all engines, or ASCEND_USE_ASYNC_TRANSFER and ASCEND_ENABLE_USE_FABRIC_MEM',
    disturbs: 'all_workers',
  },
  {
    id: 'ascend_no_port',
    cause: 'settings_refused',
    needles: ['Find available port failed'],
    pattern: /ascend/i,
    says: "Ascend's transport finds no free port on this host",
    why: 'Each NPU listens at a port of its own, counted from ASCEND_BASE_PORT. With the network of the host other engines and programs hold them.',
    cure: 'Set ASCEND_BASE_PORT on this engine to the beginning of a range that is free on its host, and open it between the pods',
    commands: ['ss -ltn    # on the host: ports that are taken'],
  },
  {
    id: 'ascend_fabric_memory_missing',
    cause: 'settings_refused',
    needles: ['Fabric mem mode is not supported, please upgrade Ascend HDK and CANN'],
    says: 'ASCEND_ENABLE_USE_FABRIC_MEM asks for fabric memory, which driver and CANN of this host do not have',
    why: 'It is there on A3 alone, with CANN 9.0 and HDK 26.0 or later.',
    cure: 'Unset ASCEND_ENABLE_USE_FABRIC_MEM on all engines and clients of the store, or upgrade HDK to 26.0 and CANN to 9.0 on all A3 hosts',
  },
  {
    id: 'ascend_memory_not_registered',
    cause: 'transfer_path_broken',
    needles: ['Register mem ret:207000'],
    says: 'Ascend does not register the memory of the store for transfers (ret 207000: not supported)',
    why: 'The runtime does not have the feature: ASCEND_ENABLE_USE_FABRIC_MEM=1 needs HDK 26.0, CANN 9.0 and LingQu CC 1.5.0 or later, on A3.',
    cure: 'Unset ASCEND_ENABLE_USE_FABRIC_MEM on all engines and clients of the store, or upgrade HDK to 26.0, CANN to 9.0 and LingQu CC to 1.5.0 on all A3 hosts',
  },
  {
    id: 'ascend_fabric_memory_needed',
    cause: 'settings_refused',
    needles: ['ubshmem protocol only support fabric mem'],
    says: 'The protocol ubshmem needs fabric memory, which is not switched on',
    why: 'Its segments lie in memory that other hosts of an A3 map.',
    cure: 'Set ASCEND_ENABLE_USE_FABRIC_MEM=1 on all engines and clients of the store (A3, CANN 9.0 and HDK 26.0), or another protocol: ascend',
  },
];
