import type { Host, HostGpu } from './hosts.js';
import { isDrawnAsArcs, type LinkGroup } from './link-groups.js';

/** A box of the drawing, in its own pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

type Size = Pick<Box, 'width' | 'height'>;

/** Of a GPU's box. */
export const GPU: Size = { width: 72, height: 56 };
const NIC: Size = { width: 56, height: 22 };
const GAP = 6;
const PAD = 8;
/** Of a NUMA node's title. */
const TITLE = 18;
/** Between two buses, and above the first. */
const BUS_STEP = 20;
/** From above its place to the line of a bus. */
const BUS_LINE = 12;
/** Above GPUs, where arcs are; an arc is this high at most. */
export const ARCS = 30;
/** Between GPUs and NICs, where their lines are. */
const WIRES = 34;
/** GPUs and NICs that one drawing shows: a DGX has 8 and 10. */
export const MAX_DEVICES = 72;

/** The id of a NIC's box: a NIC and a GPU may have one name. */
export function nicId(name: string): string {
  return `nic ${name}`;
}

/** One NUMA node, with what is shown of it. */
export interface Column {
  readonly title: string;
  readonly gpus: readonly HostGpu[];
  readonly nics: readonly string[];
}

/** One for each NUMA node that has a device, and one for devices of which no node is known. */
export function columnsOf({ numa, nics }: Host, gpus: readonly HostGpu[]): Column[] {
  const nodes = [
    ...new Set([...gpus.map(({ gpu }) => gpu.numaNode), ...nics.map(({ numaNode }) => numaNode)]),
  ].sort((a, b) => (a ?? Number.MAX_SAFE_INTEGER) - (b ?? Number.MAX_SAFE_INTEGER));
  return nodes.map((node) => {
    const cpus = numa.find(({ index }) => index === node)?.cpus ?? '';
    return {
      title:
        node === undefined ? 'NUMA node not known' : `NUMA ${node}${cpus === '' ? '' : ` · CPUs ${cpus}`}`,
      gpus: gpus.filter(({ gpu }) => gpu.numaNode === node),
      nics: nics
        .filter(({ numaNode }) => numaNode === node)
        .slice(0, MAX_DEVICES)
        .map(({ name }) => name),
    };
  });
}

/** Where the rows of a drawing begin, in its pixels from above. */
export interface Heights {
  /** Bars that lie above each other. */
  readonly laneCount: number;
  readonly gpuTop: number;
  readonly nicTop: number;
  readonly whole: number;
}

/** How high each row of a drawing is, by what stands in it. */
export function heightsOf(
  columns: readonly Column[],
  groups: readonly LinkGroup[],
  lanes: ReadonlyMap<LinkGroup, number>,
): Heights {
  const laneCount = Math.max(0, ...lanes.values()) + (lanes.size > 0 ? 1 : 0);
  const gpuTop = PAD + TITLE + laneCount * BUS_STEP + (groups.some(isDrawnAsArcs) ? ARCS : 0) + 6;
  const nicTop = gpuTop + GPU.height + WIRES;
  const hasNics = columns.some(({ nics }) => nics.length > 0);
  return {
    laneCount,
    gpuTop,
    nicTop,
    whole: (hasNics ? nicTop + NIC.height : gpuTop + GPU.height) + PAD,
  };
}

/** Where a bar lies that is drawn in one of the lanes above the GPUs. */
export function busY(lane: number): number {
  return PAD + TITLE + lane * BUS_STEP + BUS_LINE;
}

/** Boxes of a drawing. */
export interface PlacedColumns {
  readonly numa: readonly (Box & { readonly title: string })[];
  /** By the id of a GPU, or `nicId` of a NIC. */
  readonly boxes: ReadonlyMap<string, Box>;
  readonly width: number;
}

/** Places NUMA nodes side by side, with their GPUs and NICs in rows. */
export function placeColumns(columns: readonly Column[], { gpuTop, nicTop, whole }: Heights): PlacedColumns {
  const boxes = new Map<string, Box>();
  const numa: (Box & { title: string })[] = [];
  let x = 0;
  for (const { title, gpus, nics } of columns) {
    const inner = Math.max(rowWidth(gpus.length, GPU), rowWidth(nics.length, NIC), GPU.width);
    numa.push({ x, y: 0, width: inner + 2 * PAD, height: whole, title });
    const middle = x + PAD + inner / 2;
    for (const [at, { id }] of gpus.entries()) boxes.set(id, boxInRow(at, gpus.length, GPU, middle, gpuTop));
    for (const [at, name] of nics.entries())
      boxes.set(nicId(name), boxInRow(at, nics.length, NIC, middle, nicTop));
    x += inner + 2 * PAD + GAP;
  }
  return { boxes, numa, width: Math.max(x - GAP, GPU.width) };
}

function rowWidth(count: number, { width }: Size): number {
  return count * (width + GAP) - GAP;
}

/** The box at place `at` of a row of `count`, which has its middle at `middle`. */
function boxInRow(at: number, count: number, size: Size, middle: number, y: number): Box {
  return { x: middle - rowWidth(count, size) / 2 + at * (size.width + GAP), y, ...size };
}
