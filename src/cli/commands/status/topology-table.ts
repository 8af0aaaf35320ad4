import type { FleetSnapshot } from '../../../app/fleet-snapshot.js';
import { fabricName, gpuName, linkName } from '../../../core/contract/topology/topology-names.js';
import { onOneLine } from '../../../core/text/printable.js';
import { workerName } from '../../../core/text/worker-name.js';
import { plainTable, pushRow } from '../../../edge/platform/data/plain-table.js';
import type { CapabilityReport, Placement, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import type { Worker } from '../../../gen/kvaccord/v1/fleet.js';
import { gpusOf } from './report-cells.js';

/** Devices in one matrix: a DGX has 8 GPUs and 10 NICs. */
const MAX_DEVICES = 40;

const GIB = 2 ** 30;

/** Where the GPUs of each worker are and how they are linked, for a person; of a sidecar alone, with every device and link. */
export function renderTopology(snapshot: FleetSnapshot): string {
  return `${snapshot.type === 'sidecar' ? ofOne(snapshot.report) : ofFleet(snapshot.workers)}\n`;
}

function ofFleet(workers: readonly Worker[]): string {
  if (workers.length === 0) return 'No worker is listed.';
  const table = plainTable(['NODE', 'PLACE', 'WORKER', 'GPUS', 'GPU LINKS', 'FABRIC', 'NUMA', 'NICS', 'WHY']);
  const rows = workers.map(({ member, report }) => {
    const topology = report?.topology;
    return [
      topology?.placement?.nodeName ?? '-',
      placeOf(topology?.placement),
      workerName({ workerId: report?.workerId ?? '', target: member?.target ?? '' }),
      gpusOf(topology),
      gpuLinksOf(topology),
      fabricsOf(topology),
      numaOf(topology),
      String(topology?.nics.length || '-'),
      // What was found needs no words.
      (topology?.gpus.length ?? 0) > 0 ? '' : (topology?.notes.join('; ') ?? 'no report yet'),
    ];
  });
  // Neighbours stand together.
  const place = ([node, where, , , , fabric]: readonly string[]): string => `${fabric}\n${where}\n${node}`;
  rows.sort((a, b) => place(a).localeCompare(place(b)) || (a[2] ?? '').localeCompare(b[2] ?? ''));
  for (const row of rows) pushRow(table, row);
  return table.toString();
}

function ofOne({ topology, workerId }: CapabilityReport): string {
  const notes = (topology?.notes ?? []).map((note) => onOneLine(note));
  if (topology === undefined || topology.gpus.length === 0)
    return [`${onOneLine(workerId)}: no GPU is known`, ...notes].join('\n');
  const { placement, gpus, nics, links } = topology;
  const table = plainTable(['GPU', 'PRODUCT', 'MEMORY', 'PCI BUS', 'NUMA', 'CPUS', 'FABRIC', 'MIG']);
  for (const [at, gpu] of gpus.entries())
    pushRow(table, [
      gpuName(gpu, at),
      gpu.productName,
      gpu.memoryBytes === undefined ? '-' : `${Math.round(Number(gpu.memoryBytes) / GIB)} GiB`,
      gpu.pciBusId || '-',
      String(gpu.numaNode ?? '-'),
      gpu.cpuAffinity ?? '-',
      fabricName(gpu) ?? '-',
      gpu.migProfile ?? '-',
    ]);
  return [
    `${onOneLine(workerId)}: ${onOneLine(whereIs(placement))}`,
    table.toString(),
    ...(links.length === 0 || gpus.length + nics.length > MAX_DEVICES ? [] : [matrixOf(topology)]),
    ...notes,
  ].join('\n\n');
}

/** The links of every GPU, in the way of `nvidia-smi topo -m`. */
function matrixOf({ gpus, nics, links }: Topology): string {
  const devices = [
    ...gpus.map((gpu, at) => ({ id: gpu.uuid, name: gpuName(gpu, at) })),
    ...nics.map(({ name }) => ({ id: name, name })),
  ];
  const kinds = new Map<string, string>();
  for (const link of links)
    for (const pair of [`${link.a}\n${link.b}`, `${link.b}\n${link.a}`]) kinds.set(pair, linkName(link));
  const table = plainTable(['', ...devices.map(({ name }) => onOneLine(name))]);
  for (const row of devices.slice(0, gpus.length))
    pushRow(table, [
      row.name,
      ...devices.map(({ id }) => (id === row.id ? 'X' : (kinds.get(`${row.id}\n${id}`) ?? '-'))),
    ]);
  return table.toString();
}

/** How its GPUs are linked with each other: `NV18`, or `NV4 12, SYS 16` where pairs differ. */
function gpuLinksOf(topology: Topology | undefined): string {
  const gpus = new Set(topology?.gpus.map(({ uuid }) => uuid));
  const counts = new Map<string, number>();
  for (const link of topology?.links ?? []) {
    if (!gpus.has(link.a) || !gpus.has(link.b)) continue;
    const name = linkName(link);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [only] = counts.keys();
  if (counts.size <= 1) return only ?? '-';
  return [...counts].map(([name, pairs]) => `${name} ${pairs}`).join(', ');
}

function fabricsOf(topology: Topology | undefined): string {
  const fabrics = new Set(topology?.gpus.map(fabricName).filter((fabric) => fabric !== undefined));
  return fabrics.size > 0
    ? [...fabrics].join(', ')
    : (topology?.placement?.topologyDomains['gpu.clique'] ?? '-');
}

function numaOf(topology: Topology | undefined): string {
  const nodes = new Set(topology?.gpus.map(({ numaNode }) => numaNode).filter((node) => node !== undefined));
  return nodes.size === 0 ? '-' : [...nodes].sort((a, b) => a - b).join(',');
}

function whereIs(placement: Placement | undefined): string {
  const place = placeOf(placement);
  const node = placement?.nodeName === undefined ? [] : [`node ${placement.nodeName}`];
  return [...(place === '-' ? [] : [place]), ...node].join(', ') || 'no placement is known';
}

/** From the widest to the narrowest: `zone a, rack 12`. */
function placeOf(placement: Placement | undefined): string {
  const parts = [
    ['zone', placement?.zone],
    ['rack', placement?.rack],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  return parts.length === 0 ? '-' : parts.join(', ');
}
