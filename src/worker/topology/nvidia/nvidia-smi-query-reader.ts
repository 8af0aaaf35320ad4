import type { Host } from '../../../edge/platform/processes/host.js';
import { Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { commandFailure } from '../command-failure.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import type { ListedGpu } from './nvidia-smi-list.js';
import { parseNvidiaSmiList } from './nvidia-smi-list.js';

const COMMAND = 'nvidia-smi -q -x';

/** Product, memory, address, MIG slices, fabric and versions from `nvidia-smi -q -x`. */
export const nvidiaSmiQueryReader: TopologyReader = {
  name: 'nvidia-smi-query',
  async read(host: Host, signal: AbortSignal): Promise<TopologyPart> {
    const output = await host.run('nvidia-smi', ['-q', '-x'], signal);
    if (output === undefined) return { topology: Topology.create(), absent: 'nvidia-smi not on PATH' };
    const failure = commandFailure(COMMAND, output);
    if (failure !== undefined) return { topology: Topology.create(), absent: failure };
    let listed: readonly ListedGpu[] = [];
    if (output.stdout.includes('<mig_device>')) {
      const list = await host.run('nvidia-smi', ['-L'], signal);
      if (list?.exitCode === 0) listed = parseNvidiaSmiList(list.stdout);
    }
    // Loaded with the first output: a container without nvidia-smi need not hold an XML parser.
    const { parseNvidiaSmiQuery } = await import('./nvidia-smi-query.js');
    const topology = parseNvidiaSmiQuery(output.stdout, listed);
    if (topology.gpus.length > 0) return { topology };
    return { topology, absent: `${COMMAND} lists no GPU` };
  },
};
