import { amdSmiReader } from './amd-smi.js';
import { nvidiaSmiListReader } from './nvidia-smi-list.js';
import { nvidiaSmiQueryReader } from './nvidia-smi-query-reader.js';
import { nvidiaSmiTopoReader } from './nvidia-smi-topo.js';
import { placementReader } from './placement.js';
import { procNvidiaReader } from './proc-nvidia.js';
import type { TopologyReader } from './reader.js';
import { sysfsNumaReader } from './sysfs-numa.js';
import { sysfsPciReader } from './sysfs-pci.js';

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
