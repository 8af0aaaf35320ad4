import { LinkKind } from '../../../gen/kvaccord/v1/capabilities.js';

/** Where a device hangs: its host bridge, the bridges below that, itself. */
export interface PciPlace {
  /** `pci0000:15`, `0000:15:01.0`, …, `0000:18:00.0`. */
  readonly path: readonly string[];
  readonly numaNode: number | undefined;
}

const HOST_BRIDGE = /^pci[0-9a-f]{4,8}:[0-9a-f]{2}$/i;
const PCI_DEVICE = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i;

/**
 * The place that a link in `/sys/bus/pci/devices` shows:
 * `../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0`. On ARM the host
 * bridge may stand behind other folders. Undefined when there is none.
 */
export function pciPathOf(link: string): readonly string[] | undefined {
  const folders = link.split('/');
  const start = folders.findIndex((folder) => HOST_BRIDGE.test(folder));
  const path = start < 0 ? [] : folders.slice(start);
  return path.length > 1 && path.slice(1).every((folder) => PCI_DEVICE.test(folder)) ? path : undefined;
}

/**
 * How two devices are connected over PCIe, in the words of `nvidia-smi topo`.
 * One switch shows as its upstream port, which both paths share, and a
 * downstream port for each device: that still is `PIX`. Below different host
 * bridges the NUMA nodes decide, and where these are unknown nothing is said.
 */
export function pciLinkKind(a: PciPlace, b: PciPlace): LinkKind | undefined {
  let shared = 0;
  while (shared < a.path.length && a.path[shared] !== undefined && a.path[shared] === b.path[shared])
    shared += 1;
  if (shared > 1) {
    const ownBridges = Math.max(a.path.length, b.path.length) - shared - 1;
    return ownBridges <= 1 ? LinkKind.PIX : LinkKind.PXB;
  }
  if (shared === 1) return LinkKind.PHB;
  if (a.numaNode === undefined || b.numaNode === undefined) return undefined;
  return a.numaNode === b.numaNode ? LinkKind.NODE : LinkKind.SYS;
}
