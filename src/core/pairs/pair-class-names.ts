import { PairClass as Message } from '../../gen/kvaccord/v1/fleet.js';
import type { PairClass } from './pair-words.js';

/** Classes of pairs, as they are sent. */
export const PAIR_CLASS_NAMES: Readonly<Record<PairClass, Message>> = {
  same_gpu: Message.SAME_GPU,
  nvlink_fabric: Message.NVLINK_FABRIC,
  nvlink_host: Message.NVLINK_HOST,
  same_pcie_root: Message.SAME_PCIE_ROOT,
  same_numa_node: Message.SAME_NUMA_NODE,
  same_host: Message.SAME_HOST,
  same_rack: Message.SAME_RACK,
  same_zone: Message.SAME_ZONE,
  same_region: Message.SAME_REGION,
  apart: Message.APART,
  unknown: Message.UNKNOWN,
};

/** A class as it was received; `unknown` for one of a later version. */
export function pairClassName(message: Message): PairClass {
  for (const [name, value] of Object.entries(PAIR_CLASS_NAMES))
    if (value === message) return name as PairClass;
  return 'unknown';
}
