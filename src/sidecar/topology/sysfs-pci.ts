import { Gpu, Nic, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import type { Host } from '../../platform/host.js';
import { kernelListOf, numaNodeOf } from './cpu-list.js';
import { MAX_GPUS, MAX_NICS } from './limits.js';
import { pciBusIdOf } from './pci-bus-id.js';
import type { TopologyPart, TopologyReader } from './reader.js';
import { TopologyError } from './reader.js';

const DEVICES = '/sys/bus/pci/devices';
const INFINIBAND = '/sys/class/infiniband';
/** PCI vendor numbers of NVIDIA and AMD. */
const GPU_VENDORS = new Set(['0x10de', '0x1002']);
/** PCI classes of GPUs: VGA and 3D controllers (03), and AMD's "processing accelerators" (12). */
const GPU_CLASS = /^0x(?:03|12)[0-9a-f]{4}$/i;

/**
 * NUMA node and CPUs of each GPU, and address and NUMA node of each RDMA
 * adapter, from sysfs. It shows all GPUs of the host also inside a container,
 * so these only add to GPUs that another reader found (`merge-topology.ts`).
 * The kernel's `numa_node` is -1 where the firmware does not tell, as in many
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
        }),
      );
    }
    return { topology: Topology.create({ gpus, nics: await nicsOf(host) }), wholeHost: true };
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
