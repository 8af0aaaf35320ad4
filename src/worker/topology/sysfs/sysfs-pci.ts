import type { Host } from '../../../edge/platform/processes/host.js';
import { Gpu, GpuLink, Nic, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { kernelListOf, numaNodeOf } from '../cpu-list.js';
import { MAX_GPUS, MAX_NICS } from '../limits.js';
import { pciBusIdOf } from '../pci-bus-id.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';
import { type PciPlace, pciLinkKind, pciPathOf } from './pci-tree.js';

const DEVICES = '/sys/bus/pci/devices';
const INFINIBAND = '/sys/class/infiniband';
/** PCI vendor numbers of NVIDIA and AMD. */
const GPU_VENDORS = new Set(['0x10de', '0x1002']);
/** PCI classes of GPUs: VGA and 3D controllers (03), and AMD's "processing accelerators" (12). */
const GPU_CLASS = /^0x(?:03|12)[0-9a-f]{4}$/i;

/**
 * NUMA node and CPUs of each GPU, address and NUMA node of each RDMA adapter,
 * and how GPUs hang together and with adapters over PCIe, from sysfs. It shows
 * all GPUs of the host also inside a container, so these only add to GPUs that
 * another reader found, and NVLink or XGMI found there stands above PCIe
 * (`merge-topology.ts`).
 * The kernel's `numa_node` is -1 where the firmware does not set it, as in many
 * virtual machines.
 */
export const sysfsPciReader: TopologyReader = {
  name: 'sysfs-pci',
  async read(host: Host, signal: AbortSignal): Promise<TopologyPart> {
    const gpus: Gpu[] = [];
    for (const address of await host.listFolder(DEVICES)) {
      signal.throwIfAborted();
      const pciBusId = pciBusIdOf(address);
      if (pciBusId === undefined) continue;
      const folder = `${DEVICES}/${address}`;
      const text = async (name: string): Promise<string> =>
        ((await host.readFile(`${folder}/${name}`)) ?? '').trim();
      if (!GPU_VENDORS.has(await text('vendor')) || !GPU_CLASS.test(await text('class'))) continue;
      if (gpus.length === MAX_GPUS)
        throw new TopologyError(`${DEVICES} has more than ${MAX_GPUS} GPUs, which is the limit`);
      gpus.push(
        Gpu.create({
          pciBusId,
          numaNode: numaNodeOf(await text('numa_node')),
          cpuAffinity: kernelListOf(await text('local_cpulist')),
          pcieRoot: pciPathOf((await host.readLink(folder)) ?? '')?.[0],
        }),
      );
    }
    const nics = await nicsOf(host);
    const links = await linksOf(host, gpus, nics);
    return { topology: Topology.create({ gpus, nics, links }), wholeHost: true };
  },
};

async function nicsOf(host: Host): Promise<Nic[]> {
  const names = await host.listFolder(INFINIBAND);
  if (names.length > MAX_NICS)
    throw new TopologyError(`${INFINIBAND} has ${names.length} adapters; at most ${MAX_NICS} are read`);
  return Promise.all(
    names.map(async (name) => {
      // The link ends in the adapter's address: ../../../0000:18:00.0
      const link = await host.readLink(`${INFINIBAND}/${name}/device`);
      const pciBusId = pciBusIdOf(link?.split('/').at(-1) ?? '');
      const numaNode = pciBusId && (await host.readFile(`${DEVICES}/${pciBusId}/numa_node`));
      return Nic.create({ name, pciBusId, numaNode: numaNodeOf(numaNode ?? '') });
    }),
  );
}

/** Links from each GPU to the GPUs after it and to all adapters. */
async function linksOf(host: Host, gpus: readonly Gpu[], nics: readonly Nic[]): Promise<GpuLink[]> {
  const placed = async (name: string, device: Gpu | Nic): Promise<[string, PciPlace][]> => {
    const link = device.pciBusId && (await host.readLink(`${DEVICES}/${device.pciBusId}`));
    const path = pciPathOf(link ?? '');
    return path === undefined ? [] : [[name, { path, numaNode: device.numaNode }]];
  };
  const gpuPlaces = (await Promise.all(gpus.map((gpu) => placed(gpu.pciBusId, gpu)))).flat();
  const nicPlaces = (await Promise.all(nics.map((nic) => placed(nic.name, nic)))).flat();
  return gpuPlaces.flatMap(([a, place], at) =>
    [...gpuPlaces.slice(at + 1), ...nicPlaces].flatMap(([b, other]) => {
      const kind = pciLinkKind(place, other);
      return kind === undefined ? [] : [GpuLink.create({ a, b, kind })];
    }),
  );
}
