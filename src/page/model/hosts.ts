import { groupBy } from '../../core/data/group-by.js';
import type { ViewTone } from '../../core/view/view-document.js';
import type { GpuJson, LinkJson, TopologyJson } from './report.js';

/** A worker with what it runs on, for the drawing. */
export interface PlacedWorker {
  /** `ViewWorker.id`. */
  readonly id: number;
  /** What people call it. */
  readonly name: string;
  readonly role: string;
  readonly group: string;
  readonly tone: ViewTone;
  readonly topology: TopologyJson | undefined;
}

/** One GPU of a host, and whose it is. */
export interface HostGpu {
  readonly id: string;
  readonly name: string;
  readonly gpu: GpuJson;
  /** Workers that report it; two may share a GPU. */
  readonly workers: readonly PlacedWorker[];
}

/** One link, as `nvidia-smi topo -m` names it. */
export interface HostLink {
  readonly a: string;
  readonly b: string;
  /** `NVLINK`, `PIX`, …, `XGMI`. */
  readonly kind: string;
  /** `NV18`, `PIX`. */
  readonly label: string;
}

/** One machine, put together from all workers on it. */
export interface Host {
  /** The node's name; of a worker that names none, its own. */
  readonly name: string;
  readonly isNamed: boolean;
  readonly zone: string;
  readonly rack: string;
  /** NVLink fabrics and cliques that its GPUs are in, as `3f9a12bc.1`. */
  readonly fabric: string;
  readonly driver: string;
  readonly gpus: readonly HostGpu[];
  readonly nics: readonly { readonly name: string; readonly numaNode: number | undefined }[];
  readonly numa: readonly { readonly index: number; readonly cpus: string }[];
  readonly links: readonly HostLink[];
  readonly workers: readonly PlacedWorker[];
  /** Why nothing is drawn, as the workers say it; without repetitions. */
  readonly notes: readonly string[];
}

/** Hosts that reach each other over NVLink, or those that are in none. */
export interface FabricDomain {
  /** Empty for hosts without a fabric. */
  readonly name: string;
  readonly hosts: readonly Host[];
}

/** Leading characters of a fabric's cluster UUID that tell one from another; `status --topology` shows as many. */
const FABRIC_CHARS = 8;

const SHORT: Readonly<Record<string, string>> = { NVLINK: 'NV' };

/** All machines of a fleet by fabric domain: larger domains first, hosts by rack and name. */
export function fabricsOf(workers: readonly PlacedWorker[]): FabricDomain[] {
  const byHost = groupBy(workers, ({ id, topology }) => {
    const node = topology?.placement?.nodeName ?? '';
    return node === '' ? `worker ${id}` : `node ${node}`;
  });
  const byFabric = groupBy([...byHost.values()].map(hostOf), ({ fabric }) => fabric);
  return [...byFabric]
    .map(([name, hosts]) => ({ name, hosts: hosts.sort(byPlace) }))
    .sort((a, b) => Number(a.name === '') - Number(b.name === '') || b.hosts.length - a.hosts.length);
}

function byPlace(a: Host, b: Host): number {
  return (
    a.zone.localeCompare(b.zone) ||
    a.rack.localeCompare(b.rack) ||
    a.name.localeCompare(b.name, 'en', { numeric: true })
  );
}

function hostOf(workers: readonly PlacedWorker[]): Host {
  const gpus = new Map<string, { gpu: GpuJson; workers: PlacedWorker[] }>();
  const nics = new Map<string, number | undefined>();
  const numa = new Map<number, string>();
  const links = new Map<string, HostLink>();
  const notes = new Set<string>();
  for (const worker of workers) {
    const { topology } = worker;
    for (const gpu of topology?.gpus ?? []) {
      const id = gpu.uuid ?? `${gpu.pciBusId}`;
      const known = gpus.get(id);
      if (known === undefined) gpus.set(id, { gpu, workers: [worker] });
      else known.workers.push(worker);
    }
    for (const { name = '', numaNode } of topology?.nics ?? []) nics.set(name, numaNode);
    for (const { index = 0, cpus = '' } of topology?.numaNodes ?? []) numa.set(index, cpus);
    for (const link of topology?.links ?? []) addLink(links, link);
    for (const note of topology?.notes ?? []) notes.add(note);
  }
  const [first] = workers;
  const place = workers.map(({ topology }) => topology?.placement).find((each) => each !== undefined);
  const made = [...gpus].map(([id, each], at) => ({ id, name: gpuName(each.gpu, at), ...each }));
  return {
    name: place?.nodeName ?? first?.name ?? '',
    isNamed: (place?.nodeName ?? '') !== '',
    zone: place?.zone ?? '',
    rack: place?.rack ?? '',
    fabric: fabricOf(made, place?.topologyDomains),
    driver: workers.map(({ topology }) => topology?.driverVersion).find((each) => each !== undefined) ?? '',
    gpus: made.sort((a, b) => (a.gpu.index ?? 0) - (b.gpu.index ?? 0)),
    nics: [...nics].map(([name, numaNode]) => ({ name, numaNode })),
    numa: [...numa].map(([index, cpus]) => ({ index, cpus })).sort((a, b) => a.index - b.index),
    links: [...links.values()],
    workers,
    notes: [...notes],
  };
}

function addLink(links: Map<string, HostLink>, { a = '', b = '', kind = '', laneCount }: LinkJson): void {
  const word = kind.replace('LINK_KIND_', '');
  const label = `${SHORT[word] ?? word}${laneCount ?? ''}`;
  const key = a < b ? `${a}\n${b}` : `${b}\n${a}`;
  if (!links.has(key)) links.set(key, { a, b, kind: word, label });
}

/** A MIG device has an index of its own within its GPU. */
function gpuName({ index, migProfile }: GpuJson, at: number): string {
  return `${migProfile === undefined ? 'GPU' : 'MIG'} ${index ?? at}`;
}

function fabricOf(gpus: readonly HostGpu[], domains: Readonly<Record<string, string>> | undefined): string {
  const fabrics = new Set(
    gpus.flatMap(({ gpu: { fabricClusterUuid, fabricCliqueId } }) =>
      fabricClusterUuid === undefined
        ? []
        : [`${fabricClusterUuid.slice(0, FABRIC_CHARS)}.${fabricCliqueId ?? '?'}`],
    ),
  );
  return fabrics.size > 0 ? [...fabrics].join(', ') : (domains?.['gpu.clique'] ?? '');
}
