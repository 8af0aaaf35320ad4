import type { KnownFault } from '../known-fault.js';

/** HCCL below ranks and transfers of NPUs, CANN 8.0 to 9.0: `hccl_socket_manager.cc`, `topoinfo_ranktable*.cc`. */
export const ASCEND_HCCL: readonly KnownFault[] = [
  {
    id: 'hccl_rank_table_devices',
    cause: 'settings_refused',
    needles: ['ranktable config devId['],
    pattern: /ranktable config devId\[(-?\d{1,4})\], ?but local devId\[(\d{1,4})\]/,
    says: 'The rank table gives a rank the NPU $1, and its process runs on the NPU $2 of the host',
    why: 'device_id of a rank table is the number of the NPU on its host. In a container with some of the NPUs, or with ASCEND_RT_VISIBLE_DEVICES, they are counted from 0, which is another number.',
    cure: 'Write the NPUs of the host into device_id of the rank table ($2 in place of $1: gen_ranktable.sh run on the host), and start the engine on these NPUs',
    commands: ['npu-smi info -m    # numbers of the NPUs on the host and in the container'],
  },
  {
    id: 'hccl_socket_timeout',
    cause: 'transfer_path_broken',
    needles: [
      'Getting socket times out. Reason',
      'wait socket establish timeout, role[',
      'Wait links establish completed failed',
      'Transport init error. Reason: [Create][DestLink]',
    ],
    says: 'NPUs of two ranks do not connect within HCCL_CONNECT_TIMEOUT (HCCL EI0006)',
    why: 'One of both did not come: it ended or stands still, runs another model or settings, has another TLS switch, or no route leads from NPU to NPU. The rank that reports it waited in vain; the fault is on the one that does not.',
    cure: 'Find the rank without EI0006 and correct its first error; where all have it, set the same TLS switch on all NPUs (hccn_tool -i N -tls -s enable 0) and have them reach each other (hccn_tool -i N -ping -g address OTHER_NPU_IP); where ranks only start late, HCCL_CONNECT_TIMEOUT=1200 on all',
    commands: [
      'for i in 0 1 2 3 4 5 6 7; do hccn_tool -i $i -tls -g; hccn_tool -i $i -link -g; hccn_tool -i $i -net_health -g; done    # on each host',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'hccl_group_not_connected',
    cause: 'program_ended',
    needles: ['hcclCommInitRootInfo', 'HcclCommInitRootInfo'],
    pattern: /ommInitRootInfo.{0,120}error code is (9|11|12|19)\b/,
    says: 'The ranks of an engine do not find each other over HCCL (error code $1: no connection)',
    why: 'The first rank listens at an address of its host, and the others connect to it by TCP. Another interface than the one of that network, ports that are closed, or a rank that ended is in between.',
    cure: 'Set HCCL_IF_IP to the address of each host and HCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME to its interface on all ranks, let TCP pass between the hosts (with several engines on a host HCCL_HOST_SOCKET_PORT_RANGE=auto), and restart all ranks',
    commands: [
      'ip -br addr    # on each host: the interface whose address the other reaches',
      'grep -rhm3 ERROR ~/ascend/log/debug/plog | head    # which rank was not reached',
    ],
    disturbs: 'all_workers',
  },
  {
    id: 'hccl_group_refused',
    cause: 'program_ended',
    needles: ['hcclCommInitRootInfo', 'HcclCommInitRootInfo'],
    pattern: /ommInitRootInfo.{0,120}error code is (1|2|4|5|6|7|8|15|16)\b/,
    says: 'HCCL makes no group of the ranks of an engine on these NPUs (error code $1)',
    why: 'Codes 1 and 5 are a group that these NPUs cannot form: pipeline stages on 310P, two ranks on one NPU, other kinds of NPUs; 7 is an NPU that another process holds; 15 and 16 come from driver and CANN.',
    cure: 'Start with one rank for each NPU that ASCEND_RT_VISIBLE_DEVICES lists and with tensor parallelism alone (--pipeline-parallel-size 1, which 310P asks for), on NPUs that npu-smi info shows free, with the CANN that fits the driver',
    commands: [
      'npu-smi info    # processes on each NPU, version of the driver',
      'grep -rhm3 ERROR ~/ascend/log/debug/plog | head    # the reason, of the first rank that failed',
    ],
  },
  {
    id: 'hccl_one_sided_batch',
    cause: 'transfer_path_broken',
    needles: [
      'Failed to invoke HcclBatchPut',
      'Failed to invoke HcclBatchGet',
      "Can't find remoteBuffer by key",
    ],
    says: 'NPUs of one host do not copy KV blocks to each other over HCCL: the memory of the other side is not found',
    why: 'Within a host HCCL goes over PCIe or HCCS by default, and the memory of Mooncake is registered for RoCE. Requests are still answered, and no block is kept or moved.',
    cure: 'Set HCCL_INTRA_ROCE_ENABLE=1 and ASCEND_BUFFER_POOL=0:0 on all engines and clients of the store on A2 hosts (910B), and restart them',
    commands: ['kubectl exec POD -- sh -c "env | grep -E \'HCCL_INTRA|ASCEND_BUFFER\'"    # of each engine'],
    disturbs: 'all_workers',
  },
];
