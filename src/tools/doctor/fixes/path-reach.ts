import type { SeenPathFault } from '../logs/general/seen-path-faults.js';
import type { TransferLibrary } from '../logs/general/transfer-libraries.js';
import { environmentOf } from './lines.js';
import { cardsOf, isOfMooncake, isOfUcx, type PathCure } from './path-machine.js';
import {
  closedBy,
  deeperQueue,
  RESTART_STUCK,
  SAME_AGENTS,
  type SeenStore,
  startBackend,
} from './path-peers.js';

const RESTARTS = 'kubectl get pods -o wide    # restarts, and the nodes of both';

/** Repairs of what lies between two engines, by the library that moves their blocks. */
export function reachPeer(fault: SeenPathFault, isSglang: boolean, store?: SeenStore): readonly PathCure[] {
  const { id, library } = fault;
  switch (id) {
    case 'backends_differ':
    case 'no_common_backend':
      return [SAME_BACKEND];
    case 'efa_refuses':
      return [EFA];
    case 'npu_connection':
      return [NPU_CONNECTION];
    case 'npu_transfer':
      return [NPU_LINKS];
    case 'name_unresolved':
      return [nameThatResolves(library)];
    case 'send_queue':
      return [deeperQueue(isSglang)];
    case 'too_slow':
      return [longerLimit(library)];
    case 'poisoned':
      return [RESTART_POISONED];
    case 'context_stuck':
      return [RESTART_STUCK];
    case 'agent_refused':
      return [SAME_AGENTS];
    case 'tcp_closed':
      return [closedBy(store, isSglang)];
    case 'backend_unready':
      return [startBackend(library)];
    case 'peer_gone':
      return isOfSelf(fault)
        ? [...addressOf(fault), reachable(fault, isSglang)]
        : [reachable(fault, isSglang), ...addressOf(fault)];
    default:
      return [readReason(fault)];
  }
}

const SAME_BACKEND: PathCure = {
  says: 'Give the engines of both roles the same backend of NIXL (UCX or LIBFABRIC, in the file and in each variable that names it: NIXL_BACKEND, TRTLLM_NIXL_KVCACHE_BACKEND), the same version of it, and as many network devices (vpc.amazonaws.com/efa: N)',
  why: 'Each side sends a list of its devices, and the other reads as many as its own backend expects. A variable of the engine beside the setting of the connector, pods with other numbers of EFA devices, or two versions make the lists differ.',
  commands: [
    'kubectl exec POD -- sh -c "env | grep -iE \'nixl|fi_\'; ls /sys/class/infiniband | wc -l; pip list | grep -i nixl"    # in a prefill and in a decode pod: what differs',
  ],
};

const EFA: PathCure = {
  says: 'Give both pods EFA as its guide has it (resources: vpc.amazonaws.com/efa, a security group that lets all traffic to itself, FI_PROVIDER=efa), with one version of libfabric and the EFA installer on both sides',
  why: 'The device refused the address or the key of the other side, or the peer itself: memory was registered again or freed while it was sent, versions differ, or the security group drops its traffic. The provider ends the process then.',
  commands: [
    'kubectl exec POD -- fi_info -p efa    # lists rdm endpoints',
    'kubectl exec POD -- sh -c "cat /opt/amazon/efa_installed_packages; pip list | grep -i nixl"    # the same in both pods',
  ],
};

const NPU_CHECKS: readonly string[] = [
  'for i in 0 1 2 3 4 5 6 7; do hccn_tool -i $i -link -g; hccn_tool -i $i -net_health -g; hccn_tool -i $i -tls -g; done    # on each host: UP, Success, and the same TLS switch everywhere',
  'hccn_tool -i 0 -ping -g address PEER_NPU_IP    # the NPU of the other host, by its own address (hccn_tool -i 0 -ip -g)',
  'grep -rhm3 "ERROR" ~/ascend/log/debug/plog | head    # in each pod: the first one',
];

const NPU_LINKS: PathCure = {
  says: 'Compare the links of the NPUs on both hosts (hccn_tool -i 0 -link -g, -ping -g address PEER_NPU_IP), and read the first ERROR of HCCL in ~/ascend/log of both engines',
  why: 'HCCL moves the blocks from NPU to NPU over ports of their own, which the pods do not see as network cards. A link that is down, an address that does not answer, or an NPU that hangs ends each transfer; the line of the connector only says that it failed.',
  commands: NPU_CHECKS,
};

const NPU_CONNECTION: PathCure = {
  says: 'Have the NPUs of both hosts reach each other: hccn_tool -i 0 -ping -g address PEER_NPU_IP, the same TLS switch on all of them (hccn_tool -i N -tls -g), the same CANN and Mooncake on both sides; within one host HCCL_INTRA_ROCE_ENABLE=1',
  why: 'Before the first block HCCL sets up a channel between two NPUs, over ports of their own. TLS that is on at one side alone, addresses in networks that are not routed, NPUs whose link is down and a CANN of another version end it after its time-out, on every request.',
  commands: [
    ...NPU_CHECKS,
    environmentOf('each engine', 'HCCL_INTRA_ROCE_ENABLE=1', 'where both are on one host'),
  ],
};

/** Ascend's engine for direct transfers, which a Mooncake connector starts. */
const ASCEND_PEER: PathCure = {
  says: 'Compare the age of both pods (kubectl get pods): where the other one lives, make its NPU answer: hccn_tool -i 0 -ping -g address PEER_NPU_IP, "use_ascend_direct": true in kv_connector_extra_config of both roles, the same CANN (8.3 and later) on both, and TCP to the port that the line names',
  why: 'Each engine listens on a port of its own (counted from ASCEND_BASE_PORT) by which NPUs find each other. An engine that has restarted has another one; packets do not arrive where the host has several networks, links of NPUs are down, or their TLS switches differ. ASCEND_CONNECT_TIMEOUT is for hosts that are only slow.',
  commands: [
    RESTARTS,
    ...NPU_CHECKS,
    environmentOf(
      'each engine',
      'ASCEND_CONNECT_TIMEOUT=10000 ASCEND_TRANSFER_TIMEOUT=10000',
      'milliseconds',
    ),
  ],
};

/** Each connection fails over one card of this host: the others work, or there is no other. */
function withoutCard(card: string, library: TransferLibrary | undefined, isSglang: boolean): PathCure {
  return {
    says: `Compare the age of both pods (kubectl get pods): where the other one lives, leave ${card} out on this engine (${cardsOf(library, isSglang, 'OTHER_CARDS')}), and have its link, its switch port and its GID looked at`,
    why: `Packets that leave by ${card} are not answered, each time. A card whose link, cable or switch port is bad, one in a network that the peer does not reach, or with another GID index than the peer's fails so, while the other cards of the host go on. NetworkPolicy has no say in RDMA.`,
    commands: [
      RESTARTS,
      `kubectl exec POD -- sh -c "rdma link; show_gids ${card}"    # ACTIVE, and a GID of the network of the peer`,
      `ib_write_bw -d ${card} PEER    # after ib_write_bw -d CARD on the other host: the same way without the engine`,
      `grep . /sys/class/infiniband/${card}/ports/1/hw_counters/*err* | tail -n 20    # on the node: what grows`,
    ],
  };
}

function reachable({ library, cards, card: same }: SeenPathFault, isSglang: boolean): PathCure {
  if (library === 'Ascend') return ASCEND_PEER;
  if (same !== undefined) return withoutCard(same, library, isSglang);
  const says =
    'Start the other engine or store again where it has ended (kubectl get pods; its log has the reason); where it lives, open the way between both hosts';
  const restarted = 'A restart of the other engine breaks its connections once, and ends by itself.';
  const [here, there] = cards ?? [];
  const card = here ?? 'mlx5_0';
  if (library === 'libfabric' || library === 'NVLink')
    return {
      says: `${says} (${library === 'NVLink' ? 'a common channel of IMEX and NVLink domain' : 'a security group that lets all traffic to itself, EFA devices in both pods'}), and restart the engine that still knows the old one`,
      why: `${restarted} Where it does not, the side that stays keeps addresses of an engine that is no more, or the network drops its packets.`,
      commands: [
        RESTARTS,
        library === 'NVLink'
          ? 'nvidia-imex-ctl -N    # on the hosts: both READY'
          : 'kubectl exec POD -- fi_pingpong -p efa PEER    # after fi_pingpong -p efa in the other pod',
      ],
    };
  if (library === 'MoRI' || library === 'Mooncake over RDMA') {
    const isCross = here !== undefined && there !== undefined && here !== there;
    return {
      says: `${says}: ${isCross ? `${here} of this host has to reach ${there} of the other one, or give both engines cards of one rail` : 'cards of one network'} (${cardsOf(library, isSglang, card)}), with the GID that it routes (${library === 'MoRI' ? 'MORI_IB_GID_INDEX' : 'MC_GID_INDEX'})`,
      why: `${restarted} Where both live, packets that are sent are not answered: cards of rails or subnets that are not routed to each other, a GID index of another protocol, or a fabric without flow control (PFC, ECN) that drops them under load. TCP between the hosts says nothing about that.`,
      commands: [
        RESTARTS,
        `ib_write_bw -d ${card} PEER    # after ib_write_bw -d ${there ?? card} on the other host: the same way without the engine`,
        'kubectl exec POD -- sh -c "show_gids; rdma link"    # in both pods: state ACTIVE, and GIDs of one network',
      ],
    };
  }
  if (isOfMooncake(library))
    return {
      says: `${says}: TCP from each engine to the ports of the other (15000 to 17000, or those of MC_MIN_RPC_PORT and MC_MAX_RPC_PORT) in the pod and by NetworkPolicy, at the address of its pod`,
      why: `${restarted} The engines ask each other over TCP for their segments and connections before each first transfer. A refused connection is a port at which nothing listens any more, a time-out is a network that drops it. A metadata server that was restarted has forgotten them too.`,
      commands: [
        RESTARTS,
        `kubectl exec POD -- python3 -c "import socket; socket.create_connection(('PEER_IP', PORT), 3); print('reached')"    # the address and port of the line`,
      ],
    };
  if (isOfUcx(library))
    return {
      says: `${says} (a device that reaches it: UCX_NET_DEVICES=mlx5_0:1, NetworkPolicy for TCP), and restart an engine that still knows the old one`,
      why: `${restarted} Where both live, packets do not arrive: a wrong network device or GID (UCX_NET_DEVICES, UCX_IB_GID_INDEX), links between subnets that are not routed, or a port that is closed. A flushed work request and metadata of an agent that is not found are what is left of a connection that had ended before.`,
      commands: [
        RESTARTS,
        environmentOf('each engine', 'UCX_NET_DEVICES=mlx5_0:1', 'a device that reaches the other host'),
      ],
    };
  return {
    says: `${says} (NetworkPolicy, routes between their networks, the port that the line names)`,
    why: `${restarted} Where both live, packets do not arrive: another network device than the one that reaches the other host, subnets that are not routed, or a port that is closed.`,
    commands: [RESTARTS],
  };
}

/** An address that leads each engine to itself. */
function isOfSelf({ hostAddress }: SeenPathFault): boolean {
  return hostAddress !== undefined && !hostAddress.startsWith('172.17.');
}

/** What an address says that leads out of no host. */
function addressOf({ hostAddress, library }: SeenPathFault): readonly PathCure[] {
  if (hostAddress === undefined) return [];
  const isBridge = hostAddress.startsWith('172.17.');
  const name =
    library === 'Mooncake over RDMA' || library === 'Mooncake' || library === 'Ascend'
      ? 'VLLM_HOST_IP or local_hostname'
      : 'its host setting';
  return [
    {
      says: `Have each engine give the address of its pod or host (${name}) instead of ${hostAddress}, where the two are on different hosts`,
      why: `${hostAddress} is ${isBridge ? "an address of Docker's bridge, which only containers of the same host reach (--network host avoids it)" : 'an address of the host itself'}. On one host it is right.`,
      commands: ['hostname -I    # on the other host: the address that this one reaches'],
    },
  ];
}

function nameThatResolves(library: TransferLibrary | undefined): PathCure {
  return {
    says: `Give each engine the address of its pod instead of a name (${isOfMooncake(library) ? 'local_hostname, VLLM_HOST_IP' : 'status.podIP by the downward API'}), or a name that the other pods resolve: kubectl exec POD -- getent hosts NAME`,
    why: 'The name of a pod is known to itself alone; other pods resolve only Services, and pods of a headless Service. With hostNetwork a pod also needs dnsPolicy: ClusterFirstWithHostNet.',
    commands: ['kubectl exec POD -- getent hosts NAME    # the name of the line: prints its address'],
  };
}

function longerLimit(library: TransferLibrary | undefined): PathCure {
  const variable =
    library === 'Ascend'
      ? 'ASCEND_TRANSFER_TIMEOUT=10000'
      : isOfMooncake(library)
        ? 'MC_TRANSFER_TIMEOUT=120'
        : undefined;
  return {
    says: `Compare links, rails and load of both hosts, as blocks move slowly or not at all; ${variable === undefined ? 'a longer limit' : variable} only where they arrive late`,
    why: 'A transfer that is not done in its time is given up, and its request with it. A link that has fallen back to TCP or to a lower speed, many transfers at a time, and an engine that is busy or gone all look like that.',
    commands: [
      RESTARTS,
      ...(library === 'Ascend'
        ? NPU_CHECKS
        : [
            'kubectl exec POD -- sh -c "rdma link; ibv_devinfo | grep -E \'hca_id|state|active\'"    # ACTIVE on both hosts',
          ]),
      ...(variable === undefined ? [] : [environmentOf('each engine', variable)]),
    ],
  };
}

const RESTART_POISONED: PathCure = {
  says: 'Restart this worker (kubectl delete pod): nothing else frees its transfer buffer, and each further divided request fails on it; then see why the first transfer broke off',
  why: 'A transfer broke off while the other side could still write into the buffer. The engine will not use that memory again for as long as it lives. An engine of the other role that restarted or was scaled down under load is the usual reason.',
  commands: [
    RESTARTS,
    'kubectl logs POD | grep -m3 -nE "ERROR|\\[E\\]"    # the first error, before these lines',
  ],
};

/** By library: what it says more with. */
const LOUDER: Readonly<Partial<Record<TransferLibrary, string>>> = {
  UCX: 'UCX_LOG_LEVEL=info UCX_PROTO_INFO=y',
  NIXL: 'UCX_LOG_LEVEL=info UCX_PROTO_INFO=y NIXL_LOG_LEVEL=INFO',
  libfabric: 'FI_LOG_LEVEL=warn',
  Ascend: 'ASCEND_GLOBAL_LOG_LEVEL=1 ASCEND_SLOG_PRINT_TO_STDOUT=1',
  MoRI: 'MORI_GLOBAL_LOG_LEVEL=info',
};

/** SGLang's prefill engine, whose transfer by Mooncake failed: its own log has the error. */
const BIND_DEVICES: PathCure = {
  says: 'Give both roles a --disaggregation-ib-device by name that reaches the other (mlx5_0), or MC_FORCE_TCP=1 on both; which, Mooncake says in its first error at that time in the log of the prefill engine (kubectl logs PREFILL --since=15m)',
  why: 'A write of the prefill engine into the memory of the decode engine failed. Left to itself Mooncake takes all devices that it finds, also those of another fabric, and a transfer over such a pair fails now and then. A decode engine that has restarted looks the same for its first requests.',
  commands: [
    'kubectl logs PREFILL --since=15m | grep -nE -m5 "^[EW][0-9]{4}|Session .* failed"',
    'kubectl exec POD -- sh -c "rdma link"    # of both: ACTIVE, and of one fabric',
    'kubectl get pods -o wide    # restarts',
  ],
};

function readReason({ id, library }: SeenPathFault): PathCure {
  const louder = library === undefined ? undefined : (LOUDER[library] ?? 'MC_LOG_LEVEL=INFO');
  const versions =
    'kubectl exec POD -- pip list | grep -iE "nixl|mooncake|ucx|libfabric|mori"    # in both pods: the same versions';
  const where = 'repair what the first error before these lines names, in the log of the prefill engine too';
  if (id === 'prefill_silent') return BIND_DEVICES;
  return {
    says:
      louder === undefined
        ? `Compare the logs of both engines at that time (kubectl logs PREFILL --since=15m), and ${where}`
        : `Run both engines with ${louder}, and ${where}`,
    why: 'The line says that a transfer failed below the engine, not why. The first error of the library or of CUDA before it has the reason: a device, memory that cannot be registered, or the other engine. Versions of the library that differ between both pods do the same.',
    commands: [
      ...(louder === undefined
        ? ['kubectl logs PREFILL --since=15m | grep -n -m5 -iE "error|traceback|failed"']
        : [environmentOf('each engine', louder)]),
      versions,
    ],
  };
}
