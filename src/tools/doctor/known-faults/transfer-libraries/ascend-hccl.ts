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
    needles: ['Getting socket times out. Reason', 'wait socket establish timeout, role['],
    says: 'NPUs of two ranks do not connect within HCCL_CONNECT_TIMEOUT (HCCL EI0006)',
    why: 'One of both did not come: it ended or stands still, runs another model or settings, has another TLS switch, or no route leads from NPU to NPU. The rank that reports it waited in vain; the fault is on the one that does not.',
    cure: 'Find the rank without EI0006 and correct its first error; where all have it, set the same TLS switch on all NPUs (hccn_tool -i N -tls -s enable 0) and have them reach each other (hccn_tool -i N -ping -g address OTHER_NPU_IP); where ranks only start late, HCCL_CONNECT_TIMEOUT=1200 on all',
    commands: [
      'for i in 0 1 2 3 4 5 6 7; do hccn_tool -i $i -tls -g; hccn_tool -i $i -link -g; hccn_tool -i $i -net_health -g; done    # on each host',
    ],
    disturbs: 'all_workers',
  },
];
