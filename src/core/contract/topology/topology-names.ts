import { type Gpu, type GpuLink, LinkKind } from '../../../gen/kvaccord/v1/capabilities.js';

/** As `nvidia-smi topo -m` names them, and amd-smi. */
const LINK_NAMES: Readonly<Record<number, string>> = {
  [LinkKind.NVLINK]: 'NV',
  [LinkKind.PIX]: 'PIX',
  [LinkKind.PXB]: 'PXB',
  [LinkKind.PHB]: 'PHB',
  [LinkKind.NODE]: 'NODE',
  [LinkKind.SYS]: 'SYS',
  [LinkKind.XGMI]: 'XGMI',
  [LinkKind.PCIE]: 'PCIE',
};

/** Leading characters of a fabric's cluster UUID that differ from one fabric to another. */
const FABRIC_CHARS = 8;

/** A link for people: `NV18`, `PIX`; `?` for a kind that is not known. */
export function linkName({ kind, laneCount }: Pick<GpuLink, 'kind' | 'laneCount'>): string {
  return `${LINK_NAMES[kind] ?? '?'}${laneCount ?? ''}`;
}

/** `GPU3`, or `MIG0`: a MIG device has an index of its own within its GPU. `at` is its place in the report. */
export function gpuName({ index, migProfile }: Pick<Gpu, 'index' | 'migProfile'>, at: number): string {
  return `${migProfile === undefined ? 'GPU' : 'MIG'}${index ?? at}`;
}

/** The NVLink fabric that a GPU is in, the first characters of its cluster and its clique: `3f9a12bc.1`. Undefined for none. */
export function fabricName({
  fabricClusterUuid,
  fabricCliqueId,
}: Pick<Gpu, 'fabricClusterUuid' | 'fabricCliqueId'>): string | undefined {
  if (fabricClusterUuid === undefined) return undefined;
  return `${fabricClusterUuid.slice(0, FABRIC_CHARS)}.${fabricCliqueId ?? '?'}`;
}
