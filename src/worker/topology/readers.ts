import { amdSmiReader } from './amd/amd-smi.js';
import { nvidiaSmiListReader } from './nvidia/nvidia-smi-list.js';
import { nvidiaSmiQueryReader } from './nvidia/nvidia-smi-query-reader.js';
import { nvidiaSmiTopoReader } from './nvidia/nvidia-smi-topo.js';
import { procNvidiaReader } from './nvidia/proc-nvidia.js';
import { placementReader } from './placement.js';
import type { TopologyReader } from './reader.js';
import { sysfsNumaReader } from './sysfs/sysfs-numa.js';
import { sysfsPciReader } from './sysfs/sysfs-pci.js';

/** All readers of `--topology auto`, in order of trust. */
export const topologyReaders: readonly TopologyReader[] = [
  nvidiaSmiQueryReader,
  nvidiaSmiListReader,
  nvidiaSmiTopoReader,
  amdSmiReader,
  procNvidiaReader,
  sysfsPciReader,
  sysfsNumaReader,
  placementReader,
];
