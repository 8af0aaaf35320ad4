import type { Host } from '../../../edge/platform/processes/host.js';
import { NumaNode, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { kernelListOf } from '../cpu-list.js';
import { MAX_NUMA_NODES } from '../limits.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';

const FOLDER = '/sys/devices/system/node';

/**
 * The host's NUMA nodes with their CPUs from sysfs. Nodes without CPUs are
 * real: the memory of a Grace system's GPUs is such nodes.
 */
export const sysfsNumaReader: TopologyReader = {
  name: 'sysfs-numa',
  async read(host: Host): Promise<TopologyPart> {
    const indexes = (await host.listFolder(FOLDER))
      .flatMap((name) => /^node(\d{1,4})$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    if (indexes.length > MAX_NUMA_NODES)
      throw new TopologyError(`${FOLDER} has ${indexes.length} nodes; at most ${MAX_NUMA_NODES} are read`);
    const numaNodes = await Promise.all(
      indexes.map(async (index) => {
        const cpus = kernelListOf((await host.readFile(`${FOLDER}/node${index}/cpulist`)) ?? '');
        return NumaNode.create({ index, cpus: cpus ?? '' });
      }),
    );
    return { topology: Topology.create({ numaNodes }) };
  },
};
