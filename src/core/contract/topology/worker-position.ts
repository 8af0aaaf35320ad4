import type { CapabilityReport, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { LinkKind } from '../../../gen/kvaccord/v1/capabilities.js';
import { inPlainText } from '../../text/printable.js';
import { linkKey } from './link-key.js';

/** One GPU of a worker, or a slice of one. */
export interface PositionedGpu {
  /** Its uuid, by which links name it; the PCI address where it has none. */
  readonly id: string;
  /** The whole GPU that it is, or is a slice of. */
  readonly wholeId: string;
  readonly numaNode: number | undefined;
  /** Its PCIe host bridge, as DRA's `resource.kubernetes.io/pcieRoot` names it: `pci0000:15`. */
  readonly pcieRoot: string | undefined;
}

/** How two devices hang together, the nearest first. */
export type LinkNearness = 'nvlink' | 'pcie_root' | 'numa_node' | 'host';

/** A link of one of the worker's GPUs. */
export interface PositionedLink {
  readonly nearness: LinkNearness;
  /** As `nvidia-smi topo -m` writes it: `NV18`, `PIX`. */
  readonly label: string;
}

/** Where a worker is: what its nearness to another one is judged by. Texts are empty where they are not known. */
export interface WorkerPosition {
  /** Equal positions have equal keys. */
  readonly key: string;
  readonly node: string;
  readonly rack: string;
  readonly zone: string;
  readonly region: string;
  /** NVLink fabrics of its GPUs: `ClusterUUID.CliqueID`. */
  readonly fabrics: readonly string[];
  readonly gpus: readonly PositionedGpu[];
  /** Links of its GPUs to GPUs, its own and others of its host, by `linkKey`. */
  readonly links: ReadonlyMap<string, PositionedLink>;
  /** Adapters behind the same PCIe switches as one of its GPUs (`PIX`, `PXB`), in the order of their names: the rails that it can use. */
  readonly rails: readonly string[];
}

/** A worker of which nothing is known. */
export const NO_POSITION: WorkerPosition = {
  key: '',
  node: '',
  rack: '',
  zone: '',
  region: '',
  fabrics: [],
  gpus: [],
  links: new Map(),
  rails: [],
};

const NEARNESS: Readonly<Record<number, LinkNearness>> = {
  [LinkKind.NVLINK]: 'nvlink',
  [LinkKind.XGMI]: 'nvlink',
  [LinkKind.PIX]: 'pcie_root',
  [LinkKind.PXB]: 'pcie_root',
  [LinkKind.PHB]: 'pcie_root',
  [LinkKind.NODE]: 'numa_node',
  [LinkKind.SYS]: 'host',
  [LinkKind.PCIE]: 'host',
};

const LABELS: Readonly<Record<number, string>> = {
  [LinkKind.NVLINK]: 'NV',
  [LinkKind.XGMI]: 'XGMI',
  [LinkKind.PIX]: 'PIX',
  [LinkKind.PXB]: 'PXB',
  [LinkKind.PHB]: 'PHB',
  [LinkKind.NODE]: 'NODE',
  [LinkKind.SYS]: 'SYS',
  [LinkKind.PCIE]: 'PCIE',
};

/** Topology domain that holds GPU feature discovery's `nvidia.com/gpu.clique`. */
const CLIQUE_DOMAIN = 'gpu.clique';

/** Reads it from a report that is within its bounds. */
export function positionOf({ topology }: CapabilityReport): WorkerPosition {
  if (topology === undefined) return NO_POSITION;
  const { placement, gpus: reported } = topology;
  const gpus = reported.map(({ uuid, parentUuid, pciBusId, numaNode, pcieRoot }): PositionedGpu => {
    const id = inPlainText(uuid || pciBusId);
    return { id, wholeId: inPlainText(parentUuid ?? id), numaNode, pcieRoot: pcieRoot || undefined };
  });
  const nics = new Set(topology.nics.map(({ name }) => name));
  const links = new Map<string, PositionedLink>();
  const rails = new Set<string>();
  for (const { a, b, kind, laneCount } of topology.links) {
    const nearness = NEARNESS[kind];
    if (nearness === undefined) continue;
    const nic = nics.has(a) ? a : nics.has(b) ? b : undefined;
    if (nic === undefined) links.set(linkKey(a, b), { nearness, label: `${LABELS[kind]}${laneCount ?? ''}` });
    else if (kind === LinkKind.PIX || kind === LinkKind.PXB) rails.add(inPlainText(nic));
  }
  const domains = placement?.topologyDomains ?? {};
  const place = {
    node: placement?.nodeName ?? '',
    rack: placement?.rack ?? '',
    zone: placement?.zone ?? '',
    region: domains['region'] ?? '',
  };
  const position = {
    node: inPlainText(place.node),
    rack: inPlainText(place.rack),
    zone: inPlainText(place.zone),
    region: inPlainText(place.region),
    fabrics: fabricsOf(topology, domains[CLIQUE_DOMAIN]),
    gpus,
    rails: [...rails].sort(),
  };
  return { ...position, links, key: JSON.stringify([position, [...links]]) };
}

/** What the GPUs say of themselves; else the label that the node carries for all of them. */
function fabricsOf({ gpus }: Topology, clique: string | undefined): readonly string[] {
  const own = gpus.flatMap(({ fabricClusterUuid: cluster, fabricCliqueId: id }) =>
    cluster === undefined || cluster === '' || id === undefined ? [] : [inPlainText(`${cluster}.${id}`)],
  );
  if (own.length > 0) return [...new Set(own)].sort();
  return clique === undefined || clique === '' ? [] : [inPlainText(clique)];
}
