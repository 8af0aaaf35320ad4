import { countOf } from '../../core/text/lists.js';
import { ARCS, type Box, busY, GPU, type Heights, nicId } from './host-layout.js';
import type { HostLink } from './hosts.js';
import { isDrawnAsArcs, type LinkGroup } from './link-groups.js';

/** GPUs of which each pair has the same link: one bar for all, in place of a line for each pair. */
export interface Bus {
  readonly kind: string;
  readonly label: string;
  /** Where it lies, and where its stubs go down to. */
  readonly y: number;
  readonly x1: number;
  readonly x2: number;
  readonly stubs: readonly number[];
  readonly bottom: number;
}

/** One link that is drawn by itself. */
export interface Wire {
  readonly kind: string;
  readonly label: string;
  readonly path: string;
  readonly labelX: number;
  readonly labelY: number;
}

/** Between the stubs of two buses at one GPU. */
const STUB_STEP = 7;

/** What the links of one kind of end are drawn as, and those that are only counted. */
export interface DrawnLinks {
  readonly wires: readonly Wire[];
  readonly counted: readonly string[];
}

/** Links between GPUs. */
export function drawGroups(
  groups: readonly LinkGroup[],
  lanes: ReadonlyMap<LinkGroup, number>,
  centerOf: (id: string) => number,
  heights: Heights,
): DrawnLinks & { readonly buses: readonly Bus[] } {
  const buses: Bus[] = [];
  const wires: Wire[] = [];
  const counted: string[] = [];
  for (const group of groups) {
    if (group.isBus) buses.push(busOf(group, lanes.get(group) ?? 0, centerOf, heights));
    else if (isDrawnAsArcs(group))
      for (const link of group.links)
        wires.push(arcOf(group, centerOf(link.a), centerOf(link.b), heights.gpuTop));
    else counted.push(`${group.label} between GPUs: ${countOf(group.links.length, 'pair')}`);
  }
  return { buses, wires, counted };
}

function busOf(
  { kind, label, ids }: LinkGroup,
  lane: number,
  centerOf: (id: string) => number,
  { laneCount, gpuTop }: Heights,
): Bus {
  // Beside each other, so that two bars do not share their stubs.
  const shift = (lane - (laneCount - 1) / 2) * STUB_STEP;
  const stubs = ids
    .map(centerOf)
    .sort((a, b) => a - b)
    .map((at) => at + shift);
  return {
    kind,
    label,
    y: busY(lane),
    x1: stubs[0] ?? 0,
    x2: stubs.at(-1) ?? 0,
    stubs,
    bottom: gpuTop,
  };
}

/** A link between a GPU and a NIC, by the ids of their boxes. */
export interface NicLink {
  readonly kind: string;
  readonly label: string;
  readonly gpu: string;
  readonly nic: string;
}

/** A link as one between a GPU and a NIC; none where it has other ends, or one that is not shown. */
export function nicLink(
  { a, b, kind, label }: HostLink,
  gpus: ReadonlySet<string>,
  boxes: ReadonlyMap<string, Box>,
): NicLink[] {
  const [gpu, nic] = gpus.has(a) ? [a, nicId(b)] : [b, nicId(a)];
  return gpus.has(gpu) && boxes.has(nic) ? [{ kind, label, gpu, nic }] : [];
}

/** Links between GPUs and NICs: those behind one bridge as lines. */
export function drawNicLinks(
  links: readonly NicLink[],
  centerOf: (id: string) => number,
  { gpuTop, nicTop }: Heights,
): DrawnLinks {
  const near = links.filter(isNear);
  return {
    wires: near.map((link) =>
      lineOf(link, { x: centerOf(link.gpu), y: gpuTop + GPU.height }, { x: centerOf(link.nic), y: nicTop }),
    ),
    counted: countLabels(links.filter((link) => !isNear(link))),
  };
}

function isNear({ kind }: NicLink): boolean {
  return kind === 'PIX' || kind === 'PXB';
}

function countLabels(links: readonly NicLink[]): string[] {
  const counts = new Map<string, number>();
  for (const { label } of links) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].map(([label, count]) => `${label} between GPU and NIC: ${countOf(count, 'pair')}`);
}

type Labelled = Pick<Wire, 'kind' | 'label'>;

/** An arc above two GPUs whose upper edges are at `y`. */
function arcOf({ kind, label }: Labelled, x1: number, x2: number, y: number): Wire {
  const height = Math.min(ARCS, 10 + Math.abs(x2 - x1) / 12);
  return {
    kind,
    label,
    path: `M${x1} ${y} C${x1} ${y - height * 1.3} ${x2} ${y - height * 1.3} ${x2} ${y}`,
    labelX: (x1 + x2) / 2,
    labelY: y - height - 2,
  };
}

type Point = Pick<Box, 'x' | 'y'>;

function lineOf({ kind, label }: Labelled, from: Point, to: Point): Wire {
  return {
    kind,
    label,
    path: `M${from.x} ${from.y} C${from.x} ${from.y + 18} ${to.x} ${to.y - 18} ${to.x} ${to.y}`,
    labelX: (from.x + to.x) / 2,
    labelY: (from.y + to.y) / 2,
  };
}
