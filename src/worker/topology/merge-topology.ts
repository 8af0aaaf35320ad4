import { Gpu, GpuLink, Nic, type NumaNode, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { firstOfKernelList, kernelListHas } from './cpu-list.js';
import { MAX_GPUS, MAX_LINKS, MAX_NICS, MAX_NUMA_NODES } from './limits.js';
import type { TopologyPart } from './reader.js';

/** A part and the reader that gave it. */
export interface NamedPart {
  readonly reader: string;
  readonly part: TopologyPart;
}

/**
 * Makes one topology of what all readers found. Pure; the order of `parts`
 * decides where two say different things, the first wins. GPUs are the same
 * when they have one uuid, or one PCI address and not two uuids; never by
 * index, which each tool and container restarts.
 *
 * - NUMA node and CPUs are the kernel's word (`wholeHost` parts) where it has one.
 * - A GPU cut into MIG slices is reported as its slices; they take what holds for
 *   the whole GPU from it, and its links stay under its uuid.
 * - Lists past their limit are cut, with a note.
 */
export function mergeTopology(parts: readonly NamedPart[]): Topology {
  const notes: string[] = parts.flatMap(({ part }) => part.topology.notes);
  const numaNodes = uniqueBy(
    parts.flatMap(({ part }) => part.topology.numaNodes),
    (node) => String(node.index),
  ).sort((a, b) => a.index - b.index);

  const all = mergeGpus(parts, notes);
  for (const gpu of all) correctNumaNode(gpu, numaNodes, notes);
  const gpus = slicesInsteadOfParents(all);
  const nics = mergeNics(parts.flatMap(({ part }) => part.topology.nics));
  const links = mergeLinks(parts, all, nics);

  const first = <T>(of: (topology: Topology) => T | undefined): T | undefined =>
    parts.map(({ part }) => of(part.topology)).find((value) => value !== undefined);
  return Topology.create({
    gpus: cut('GPUs', gpus, MAX_GPUS, notes),
    links: cut('links', links, MAX_LINKS, notes),
    nics: cut('NICs', nics, MAX_NICS, notes),
    numaNodes: cut('NUMA nodes', numaNodes, MAX_NUMA_NODES, notes),
    driverVersion: first((topology) => topology.driverVersion),
    cudaVersion: first((topology) => topology.cudaVersion),
    placement: first((topology) => topology.placement),
    notes: [...new Set(notes)],
  });
}

function mergeGpus(parts: readonly NamedPart[], notes: string[]): Gpu[] {
  const gpus: Gpu[] = [];
  const ofContainer = parts.filter(({ part }) => part.wholeHost !== true);
  for (const { part } of ofContainer)
    for (const gpu of part.topology.gpus) {
      const same = findSame(gpus, gpu);
      if (same === undefined) gpus.push(Gpu.create(gpu));
      else fill(same, gpu);
    }

  const foundInContainer = gpus.length > 0;
  for (const { reader, part } of parts.filter((one) => one.part.wholeHost === true))
    for (const gpu of part.topology.gpus) {
      const same = findSame(gpus, gpu);
      if (same !== undefined) {
        takeLocality(same, gpu, reader, notes);
        fill(same, gpu);
      } else if (!foundInContainer && gpu.uuid !== '') gpus.push(Gpu.create(gpu));
    }
  return gpus;
}

function findSame(gpus: readonly Gpu[], wanted: Gpu): Gpu | undefined {
  if (wanted.uuid !== '') {
    const same = gpus.find((gpu) => gpu.uuid === wanted.uuid);
    if (same !== undefined) return same;
  }
  if (wanted.pciBusId === '' || wanted.parentUuid !== undefined) return undefined;
  return gpus.find(
    (gpu) =>
      gpu.pciBusId === wanted.pciBusId &&
      gpu.parentUuid === undefined &&
      (gpu.uuid === '' || wanted.uuid === ''),
  );
}

/** Takes what `gpu` does not have yet from `other`. */
function fill(gpu: Gpu, other: Gpu): void {
  gpu.uuid ||= other.uuid;
  gpu.productName ||= other.productName;
  gpu.pciBusId ||= other.pciBusId;
  gpu.index ??= other.index;
  gpu.architecture ??= other.architecture;
  gpu.cudaComputeCapability ??= other.cudaComputeCapability;
  gpu.memoryBytes ??= other.memoryBytes;
  gpu.numaNode ??= other.numaNode;
  gpu.cpuAffinity ??= other.cpuAffinity;
  gpu.migProfile ??= other.migProfile;
  gpu.parentUuid ??= other.parentUuid;
  gpu.fabricClusterUuid ??= other.fabricClusterUuid;
  gpu.fabricCliqueId ??= other.fabricCliqueId;
  gpu.pcieRoot ??= other.pcieRoot;
}

function takeLocality(gpu: Gpu, kernel: Gpu, reader: string, notes: string[]): void {
  if (kernel.numaNode !== undefined && gpu.numaNode !== undefined && kernel.numaNode !== gpu.numaNode)
    notes.push(
      `${gpu.uuid || gpu.pciBusId}: ${reader} says NUMA node ${kernel.numaNode}, another source ${gpu.numaNode}; ${kernel.numaNode} is kept`,
    );
  gpu.numaNode = kernel.numaNode ?? gpu.numaNode;
  gpu.cpuAffinity = kernel.cpuAffinity ?? gpu.cpuAffinity;
}

/**
 * Some tools name the node of a GPU's own memory, which has no CPUs (seen on
 * GH200, GB200 and MI300A). Then the node that holds its first CPU is meant.
 */
function correctNumaNode(gpu: Gpu, numaNodes: readonly NumaNode[], notes: string[]): void {
  const node = numaNodes.find((node) => node.index === gpu.numaNode);
  const firstCpu = firstOfKernelList(gpu.cpuAffinity ?? '');
  if (node === undefined || node.cpus !== '' || firstCpu === undefined) return;
  const holder = numaNodes.find((node) => kernelListHas(node.cpus, firstCpu));
  if (holder === undefined) return;
  notes.push(
    `${gpu.uuid || gpu.pciBusId}: NUMA node ${node.index} has no CPUs; ${holder.index}, which holds its CPU ${firstCpu}, is kept`,
  );
  gpu.numaNode = holder.index;
}

function slicesInsteadOfParents(gpus: readonly Gpu[]): Gpu[] {
  const byUuid = new Map(gpus.map((gpu) => [gpu.uuid, gpu]));
  const cutUp = new Set<Gpu>();
  for (const slice of gpus) {
    const parent = slice.parentUuid === undefined ? undefined : byUuid.get(slice.parentUuid);
    if (parent === undefined || parent === slice) continue;
    cutUp.add(parent);
    // The memory and the number of the whole GPU are not the slice's.
    const { uuid: _uuid, index: _index, memoryBytes: _memory, ...shared } = parent;
    fill(slice, Gpu.create(shared));
  }
  return gpus.filter((gpu) => !cutUp.has(gpu));
}

function mergeNics(nics: readonly Nic[]): Nic[] {
  const byName = new Map<string, Nic>();
  for (const nic of nics) {
    const same = byName.get(nic.name);
    if (same === undefined) byName.set(nic.name, Nic.create(nic));
    else {
      same.pciBusId ??= nic.pciBusId;
      same.numaNode ??= nic.numaNode;
    }
  }
  return [...byName.values()];
}

/** One link for each pair; ends that were named by address become uuids, and ends that nothing else names leave. */
function mergeLinks(parts: readonly NamedPart[], gpus: readonly Gpu[], nics: readonly Nic[]): GpuLink[] {
  const names = new Map<string, string>();
  for (const nic of nics) names.set(nic.name, nic.name);
  for (const gpu of gpus) {
    const name = gpu.uuid || gpu.pciBusId;
    if (gpu.parentUuid === undefined) names.set(gpu.pciBusId, name);
    names.set(name, name);
  }
  const links = parts.flatMap(({ part }) =>
    part.topology.links.flatMap((link) => {
      const a = names.get(link.a);
      const b = names.get(link.b);
      return a === undefined || b === undefined || a === b ? [] : [GpuLink.create({ ...link, a, b })];
    }),
  );
  return uniqueBy(links, (link) => (link.a < link.b ? `${link.a} ${link.b}` : `${link.b} ${link.a}`));
}

function uniqueBy<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const seen = new Map<string, T>();
  for (const item of items) if (!seen.has(keyOf(item))) seen.set(keyOf(item), item);
  return [...seen.values()];
}

function cut<T>(what: string, items: readonly T[], max: number, notes: string[]): T[] {
  if (items.length > max) notes.push(`${items.length} ${what} were found; the first ${max} are kept`);
  return items.slice(0, max);
}
