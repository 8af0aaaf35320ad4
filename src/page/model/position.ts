import { linkKey } from '../../core/contract/topology/link-key.js';
import type { PositionedLink, WorkerPosition } from '../../core/contract/topology/worker-position.js';
import type { LinkJson, TopologyJson } from './report.js';

const NEARNESS: Readonly<Record<string, PositionedLink['nearness']>> = {
  LINK_KIND_NVLINK: 'nvlink',
  LINK_KIND_XGMI: 'nvlink',
  LINK_KIND_PIX: 'pcie_root',
  LINK_KIND_PXB: 'pcie_root',
  LINK_KIND_PHB: 'pcie_root',
  LINK_KIND_NODE: 'numa_node',
  LINK_KIND_SYS: 'host',
  LINK_KIND_PCIE: 'host',
};

/** Where a worker is, of a report in the JSON form: as the aggregator reads it of the same report. */
export function positionOfJson(topology: TopologyJson | undefined): WorkerPosition {
  const { gpus = [], links = [], placement } = topology ?? {};
  const domains = placement?.topologyDomains ?? {};
  const own = gpus.flatMap(({ fabricClusterUuid, fabricCliqueId }) =>
    fabricClusterUuid === undefined || fabricCliqueId === undefined
      ? []
      : [`${fabricClusterUuid}.${fabricCliqueId}`],
  );
  const label = domains['gpu.clique'];
  return {
    key: '',
    node: placement?.nodeName ?? '',
    rack: placement?.rack ?? '',
    zone: placement?.zone ?? '',
    region: domains['region'] ?? '',
    fabrics: own.length > 0 ? [...new Set(own)] : label === undefined ? [] : [label],
    gpus: gpus.map(({ uuid = '', pciBusId = '', parentUuid, numaNode, pcieRoot }) => ({
      id: uuid || pciBusId,
      wholeId: parentUuid ?? (uuid || pciBusId),
      numaNode,
      pcieRoot,
    })),
    links: new Map(links.flatMap(linkOf)),
    rails: [],
  };
}

function linkOf({ a = '', b = '', kind = '' }: LinkJson): [string, PositionedLink][] {
  const nearness = NEARNESS[kind];
  return nearness === undefined ? [] : [[linkKey(a, b), { nearness, label: '' }]];
}
