import { linkKey } from '../contract/topology/link-key.js';
import type { PositionedGpu, WorkerPosition } from '../contract/topology/worker-position.js';
import { PAIR_CLASSES, type PairClass } from './pair-words.js';

/** A class and what proves it. */
export interface ProvenClass {
  readonly class: PairClass;
  /** For an operator; for `unknown` what is missing. */
  readonly evidence: string;
}

/** Whether two workers are known to be on one machine. */
export function isSameHost(a: WorkerPosition, b: WorkerPosition): boolean {
  return a.node !== '' && b.node !== '' ? a.node === b.node : sharesGpu(a, b);
}

function sharesGpu(a: WorkerPosition, b: WorkerPosition): boolean {
  for (const { wholeId } of a.gpus) {
    for (const other of b.gpus) if (other.wholeId === wholeId && wholeId !== '') return true;
  }
  return false;
}

/** The NVLink fabric that both are in; undefined for none. */
function sharedFabric(a: WorkerPosition, b: WorkerPosition): string | undefined {
  for (const fabric of a.fabrics) if (b.fabrics.includes(fabric)) return fabric;
  return undefined;
}

/** Two domains of one kind: the same, known to differ, or not known on both sides. */
function compare(a: string, b: string): 'same' | 'other' | 'unknown' {
  if (a === '' || b === '') return 'unknown';
  return a === b ? 'same' : 'other';
}

/** The class of two workers that are not known to be on one machine. Allocates nothing. */
export function classAcrossHosts(a: WorkerPosition, b: WorkerPosition): PairClass {
  if (sharedFabric(a, b) !== undefined) return 'nvlink_fabric';
  const region = compare(a.region, b.region);
  const zone = region === 'other' ? 'other' : compare(a.zone, b.zone);
  // Names of racks repeat from one zone to another.
  if (zone !== 'other' && compare(a.rack, b.rack) === 'same') return 'same_rack';
  if (zone === 'same') return 'same_zone';
  if (region === 'same') return 'same_region';
  return zone === 'other' ? 'apart' : 'unknown';
}

/** How two GPUs of one host hang together. */
function gpuNearness(
  a: WorkerPosition,
  one: PositionedGpu,
  b: WorkerPosition,
  other: PositionedGpu,
): ProvenClass {
  if (one.wholeId === other.wholeId) {
    const isSliced = one.id !== one.wholeId || other.id !== other.wholeId;
    return { class: 'same_gpu', evidence: `${isSliced ? 'slices of ' : ''}GPU ${one.wholeId}` };
  }
  const key = linkKey(one.wholeId, other.wholeId);
  const link = a.links.get(key) ?? b.links.get(key);
  const between = `between ${one.wholeId} and ${other.wholeId}`;
  if (link?.nearness === 'nvlink') return { class: 'nvlink_host', evidence: `${link.label} ${between}` };
  if (one.pcieRoot !== undefined && one.pcieRoot === other.pcieRoot)
    return { class: 'same_pcie_root', evidence: `PCIe root ${one.pcieRoot}` };
  if (link?.nearness === 'pcie_root')
    return { class: 'same_pcie_root', evidence: `${link.label} ${between}` };
  if (one.numaNode !== undefined && one.numaNode === other.numaNode)
    return { class: 'same_numa_node', evidence: `NUMA node ${one.numaNode}` };
  if (link?.nearness === 'numa_node')
    return { class: 'same_numa_node', evidence: `${link.label} ${between}` };
  return { class: 'same_host', evidence: link === undefined ? '' : `${link.label} ${between}` };
}

function isNearer(a: PairClass, b: PairClass): boolean {
  return PAIR_CLASSES.indexOf(a) < PAIR_CLASSES.indexOf(b);
}

/**
 * The class of two workers on one machine: for each GPU of the side that has
 * fewer the nearest one of the other side, and of these the farthest, because
 * every rank moves its part of a block.
 */
export function classOnHost(a: WorkerPosition, b: WorkerPosition): ProvenClass {
  const [fewer, more] = a.gpus.length <= b.gpus.length ? [a, b] : [b, a];
  const fabric = sharedFabric(a, b);
  const where = a.node === '' ? '' : ` on ${a.node}`;
  let farthest: ProvenClass | undefined;
  for (const gpu of fewer.gpus) {
    let nearest: ProvenClass | undefined;
    for (const other of more.gpus) {
      const found = gpuNearness(fewer, gpu, more, other);
      if (nearest === undefined || isNearer(found.class, nearest.class)) nearest = found;
    }
    if (nearest !== undefined && (farthest === undefined || isNearer(farthest.class, nearest.class)))
      farthest = nearest;
  }
  if (farthest?.class !== 'same_gpu' && fabric !== undefined)
    return { class: 'nvlink_fabric', evidence: `NVLink fabric ${fabric}` };
  if (farthest === undefined) return { class: 'same_host', evidence: `node ${a.node}` };
  if (farthest.evidence === '') return { class: 'same_host', evidence: `node ${a.node}` };
  return { class: farthest.class, evidence: `${farthest.evidence}${where}` };
}

/** The class of a pair with its evidence. */
export function classOfPair(prefill: WorkerPosition, decode: WorkerPosition): ProvenClass {
  if (isSameHost(prefill, decode)) return classOnHost(prefill, decode);
  const found = classAcrossHosts(prefill, decode);
  return {
    class: found,
    evidence: `${evidenceAcross(found, prefill, decode)}${railEvidence(prefill, decode)}`,
  };
}

function evidenceAcross(found: PairClass, a: WorkerPosition, b: WorkerPosition): string {
  switch (found) {
    case 'nvlink_fabric':
      return `NVLink fabric ${sharedFabric(a, b) ?? ''}`;
    case 'same_rack':
      return `rack ${a.rack}`;
    case 'same_zone':
      return `zone ${a.zone}`;
    case 'same_region':
      return `region ${a.region}`;
    case 'apart':
      return compare(a.region, b.region) === 'other'
        ? `regions ${a.region} and ${b.region}`
        : `zones ${a.zone} and ${b.zone}`;
    default:
      return whatIsMissing(a, b);
  }
}

function whatIsMissing(a: WorkerPosition, b: WorkerPosition): string {
  const nowhere = [a, b].some(({ node, rack, zone, region }) => `${node}${rack}${zone}${region}` === '');
  return nowhere
    ? 'not both say where they are'
    : 'they name no rack, zone or region in common and none that differ';
}

/** Adapters of the same name behind the same PCIe switches as a GPU, on both sides: rails of one network. */
function railEvidence(a: WorkerPosition, b: WorkerPosition): string {
  const shared = a.rails.filter((rail) => b.rails.includes(rail));
  if (shared.length === 0) return '';
  const named = shared.slice(0, 8).join(', ');
  const rest = shared.length > 8 ? ` and ${shared.length - 8} more` : '';
  return `; rail-aligned NICs ${named}${rest}`;
}
