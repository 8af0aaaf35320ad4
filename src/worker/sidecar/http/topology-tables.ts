import { fabricName, gpuName, linkName } from '../../../core/contract/topology/topology-names.js';
import type { StatusTable } from '../../../edge/http/status-page.js';
import type { Topology } from '../../../gen/kvaccord/v1/capabilities.js';

/** Devices that have a row and a column each: a DGX has 8 GPUs and 10 NICs. */
const MAX_DEVICES = 40;
const GIB = 2 ** 30;

/** The GPUs of a worker, their links in the way of `nvidia-smi topo -m`, and where the machine stands, for the status page. */
export function topologyTables(topology: Topology | undefined): StatusTable[] {
  if (topology === undefined) return [];
  return [gpusOf(topology), linksOf(topology), placeOf(topology)];
}

function gpusOf({ gpus }: Topology): StatusTable {
  return {
    title: 'GPUs',
    columns: ['GPU', 'product', 'memory', 'PCI', 'NUMA node', 'CPUs', 'NVLink fabric', 'MIG', 'uuid'],
    rows: gpus.map((gpu, at) => [
      gpuName(gpu, at),
      gpu.productName,
      gpu.memoryBytes === undefined ? '' : `${Math.round(Number(gpu.memoryBytes) / GIB)} GiB`,
      gpu.pciBusId,
      gpu.numaNode?.toString() ?? '',
      gpu.cpuAffinity ?? '',
      fabricName(gpu) ?? '',
      gpu.migProfile ?? '',
      gpu.uuid,
    ]),
  };
}

function linksOf({ gpus, nics, links }: Topology): StatusTable {
  const devices = [
    ...gpus.map((gpu, at) => ({ id: gpu.uuid, name: gpuName(gpu, at) })),
    ...nics.map(({ name }) => ({ id: name, name })),
  ];
  const isShown = links.length > 0 && devices.length <= MAX_DEVICES;
  const names = new Map<string, string>();
  for (const link of links)
    for (const pair of [`${link.a}\n${link.b}`, `${link.b}\n${link.a}`]) names.set(pair, linkName(link));
  return {
    title: 'Links of the GPUs',
    note: 'NV: NVLink, with its lanes. PIX, PXB, PHB: PCIe, from one bridge to the host bridge. NODE, SYS: through the processor.',
    columns: ['', ...devices.map(({ name }) => name)],
    rows: isShown
      ? devices
          .slice(0, gpus.length)
          .map((row) => [
            row.name,
            ...devices.map(({ id }) => (id === row.id ? '·' : (names.get(`${row.id}\n${id}`) ?? ''))),
          ])
      : [],
  };
}

function placeOf({ placement, nics, numaNodes, driverVersion, cudaVersion }: Topology): StatusTable {
  const rows: (readonly [name: string, value: string | undefined])[] = [
    ['node', placement?.nodeName],
    ['rack', placement?.rack],
    ['zone', placement?.zone],
    ...Object.entries(placement?.topologyDomains ?? {}),
    ['driver', driverVersion],
    ['CUDA', cudaVersion],
    ...numaNodes.map(({ index, cpus }) => [`NUMA node ${index}`, `CPUs ${cpus}`] as const),
    ...nics.map(
      ({ name, numaNode, pciBusId }) =>
        [
          `NIC ${name}`,
          [pciBusId, numaNode === undefined ? undefined : `NUMA node ${numaNode}`].filter(Boolean).join(', '),
        ] as const,
    ),
  ];
  return {
    title: 'The machine',
    columns: ['what', 'value'],
    rows: rows.flatMap(([name, value]) => (value === undefined || value === '' ? [] : [[name, value]])),
  };
}
