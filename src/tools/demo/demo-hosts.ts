import { type GpuLink, LinkKind, Topology } from '../../gen/kvaccord/v1/capabilities.js';

/** Bytes of a GPU's memory. */
const GIB = 2 ** 30;

/** A kind of host. */
interface HostKind {
  readonly product: string;
  readonly memoryGib: number;
  /** Bonded NVLink links between two of its GPUs. */
  readonly laneCount: number;
  readonly nvlinkGeneration: number;
  /** GPUs of one NUMA node. */
  readonly gpusPerNuma: number;
  /** Whether its GPUs are in an NVLink fabric with those of other hosts. */
  readonly hasFabric: boolean;
}

const KINDS: Readonly<Record<'gb200' | 'h100', HostKind>> = {
  gb200: {
    product: 'NVIDIA GB200',
    memoryGib: 186,
    laneCount: 18,
    nvlinkGeneration: 5,
    gpusPerNuma: 2,
    hasFabric: true,
  },
  h100: {
    product: 'NVIDIA H100 80GB HBM3',
    memoryGib: 80,
    laneCount: 18,
    nvlinkGeneration: 4,
    gpusPerNuma: 4,
    hasFabric: false,
  },
};

/** The fabric of the rack with GB200. */
const FABRIC_CLUSTER_UUID = '7d1a6c52-0c2e-4a52-9d6c-1f0e6a9b3c11';

/** Where a simulated worker stands, and which GPUs of its host it has. */
export interface DemoPlace {
  readonly kind: keyof typeof KINDS;
  readonly node: string;
  readonly rack: string;
  readonly zone: string;
  /** Numbers of its GPUs on the host. */
  readonly gpus: readonly number[];
}

/** What the readers of a sidecar would find there: GPUs, a NIC for each pair of them, NUMA nodes and all links. */
export function demoTopology({ kind, node, rack, zone, gpus }: DemoPlace): Topology {
  const { product, memoryGib, laneCount, nvlinkGeneration, gpusPerNuma, hasFabric } = KINDS[kind];
  const numaOf = (gpu: number): number => Math.floor(gpu / gpusPerNuma);
  const uuidOf = (gpu: number): string => `GPU-${node}-${gpu}`;
  const nics = [...new Set(gpus.map((gpu) => Math.floor(gpu / 2)))];
  const numaNodes = [...new Set(gpus.map(numaOf))];
  const links: GpuLink[] = [];
  for (const [at, a] of gpus.entries()) {
    for (const b of gpus.slice(at + 1))
      links.push({
        a: uuidOf(a),
        b: uuidOf(b),
        kind: LinkKind.NVLINK,
        laneCount,
        nvlinkGeneration,
      });
    for (const nic of nics) {
      const isNear = Math.floor(a / 2) === nic;
      const near = numaOf(a) === numaOf(2 * nic) ? LinkKind.NODE : LinkKind.SYS;
      links.push({ a: uuidOf(a), b: nicName(nic), kind: isNear ? LinkKind.PIX : near });
    }
  }
  return Topology.fromPartial({
    gpus: gpus.map((gpu) => ({
      uuid: uuidOf(gpu),
      index: gpu,
      productName: product,
      memoryBytes: BigInt(memoryGib * GIB),
      pciBusId: busOf(2 + gpu),
      numaNode: numaOf(gpu),
      cpuAffinity: cpusOf(numaOf(gpu)),
      ...(hasFabric ? { fabricClusterUuid: FABRIC_CLUSTER_UUID, fabricCliqueId: '1' } : {}),
    })),
    links,
    nics: nics.map((nic) => ({ name: nicName(nic), pciBusId: busOf(0x80 + nic), numaNode: numaOf(2 * nic) })),
    numaNodes: numaNodes.map((index) => ({ index, cpus: cpusOf(index) })),
    placement: { nodeName: node, rack, zone, topologyDomains: {} },
    notes: ['simulated'],
  });
}

function nicName(nic: number): string {
  return `mlx5_${nic}`;
}

function busOf(bus: number): string {
  return `0000:${bus.toString(16).padStart(2, '0')}:00.0`;
}

function cpusOf(numaNode: number): string {
  return `${numaNode * 56}-${numaNode * 56 + 55}`;
}
