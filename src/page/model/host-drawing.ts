import { groupBy } from '../../core/data/group-by.js';
import { countOf } from '../../core/text/lists.js';
import type { Host, HostGpu, HostLink } from './hosts.js';

/** A box of the drawing, in its own pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

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

/** Everything of one host, laid out. */
export interface HostDrawing {
  readonly width: number;
  readonly height: number;
  readonly numa: readonly (Box & { readonly title: string })[];
  readonly gpus: readonly (Box & { readonly gpu: HostGpu })[];
  readonly nics: readonly (Box & { readonly name: string })[];
  readonly buses: readonly Bus[];
  readonly wires: readonly Wire[];
  /** Links that would be a web of lines, counted: `SYS: 16 pairs`. */
  readonly counted: readonly string[];
}

const GPU = { width: 72, height: 56 };
const NIC = { width: 56, height: 22 };
const GAP = 6;
const PAD = 8;
/** Of a NUMA node's title. */
const TITLE = 18;
/** Between two buses, and above the first. */
const BUS_STEP = 20;
/** Between GPUs and NICs, where their lines are. */
const WIRES = 34;
/** Lines of one kind that can still be followed. */
const MAX_WIRES = 24;
/** GPUs and NICs that one drawing shows: a DGX has 8 and 10. */
const MAX_DEVICES = 72;
/** The closest first, as `nvidia-smi topo -m` orders them: they get the bars next to the GPUs. */
const CLOSENESS = ['NVLINK', 'XGMI', 'PIX', 'PXB', 'PHB', 'PCIE', 'NODE', 'SYS'];

/** Links through the processor: the boxes of the NUMA nodes say as much, unless all have them. */
const FAR: readonly string[] = ['NODE', 'SYS'];

/** Lays out one host: NUMA nodes side by side, GPUs in them, NICs below, links between. */
export function drawHost(host: Host): HostDrawing {
  const shownGpus = host.gpus.slice(0, MAX_DEVICES);
  const gpuIds = new Set(shownGpus.map(({ id }) => id));
  const groups = groupLinks(host.links.filter(({ a, b }) => gpuIds.has(a) && gpuIds.has(b)));
  const columns = columnsOf(host, shownGpus);
  const lanes = lanesOf(groups, (id) => columns.findIndex(({ gpus }) => gpus.some((gpu) => gpu.id === id)));
  const laneCount = Math.max(0, ...lanes.values()) + (lanes.size > 0 ? 1 : 0);
  const hasArcs = groups.some(
    ({ isBus, kind, links }) => !isBus && links.length <= MAX_WIRES && !FAR.includes(kind),
  );
  const gpuTop = PAD + TITLE + laneCount * BUS_STEP + (hasArcs ? 30 : 0) + 6;
  const hasNics = columns.some(({ nics }) => nics.length > 0);
  const nicTop = gpuTop + GPU.height + WIRES;
  const height = (hasNics ? nicTop + NIC.height : gpuTop + GPU.height) + PAD;

  const boxes = new Map<string, Box>();
  const numa: (Box & { title: string })[] = [];
  let x = 0;
  for (const column of columns) {
    const inner = Math.max(
      column.gpus.length * (GPU.width + GAP) - GAP,
      column.nics.length * (NIC.width + GAP) - GAP,
      GPU.width,
    );
    numa.push({ x, y: 0, width: inner + 2 * PAD, height, title: column.title });
    place(
      column.gpus.map(({ id }) => id),
      GPU,
      x + PAD,
      inner,
      gpuTop,
      boxes,
    );
    place(
      column.nics.map((name) => `nic ${name}`),
      NIC,
      x + PAD,
      inner,
      nicTop,
      boxes,
    );
    x += inner + 2 * PAD + GAP;
  }
  const center = (id: string): number => {
    const box = boxes.get(id);
    return box === undefined ? 0 : box.x + box.width / 2;
  };

  const buses: Bus[] = [];
  const wires: Wire[] = [];
  const counted: string[] = [];
  for (const group of groups) {
    const { kind, label, ids, links, isBus } = group;
    if (isBus) {
      const lane = lanes.get(group) ?? 0;
      const stubs = ids.map(center).sort((a, b) => a - b);
      const y = PAD + TITLE + lane * BUS_STEP + 12;
      // Beside each other, so that two bars do not share their stubs.
      const shifted = stubs.map((at) => at + (lane - (laneCount - 1) / 2) * 7);
      buses.push({
        kind,
        label,
        y,
        x1: shifted[0] ?? 0,
        x2: shifted.at(-1) ?? 0,
        stubs: shifted,
        bottom: gpuTop,
      });
    } else if (links.length <= MAX_WIRES && !FAR.includes(kind)) {
      for (const link of links) wires.push(arcOf(center(link.a), center(link.b), gpuTop, kind, label));
    } else counted.push(`${label} between GPUs: ${countOf(links.length, 'pair')}`);
  }
  const toNics = host.links.flatMap((link) => nicLink(link, gpuIds, boxes));
  const drawn = toNics.filter(({ kind }) => kind === 'PIX' || kind === 'PXB');
  for (const { kind, label, gpu, nic } of drawn)
    wires.push(lineOf(center(gpu), gpuTop + GPU.height, center(nic), nicTop, kind, label));
  counted.push(...countLabels(toNics.filter((link) => !drawn.includes(link))));
  return {
    width: Math.max(x - GAP, GPU.width),
    height,
    numa,
    gpus: shownGpus.flatMap((gpu) => withBox(boxes.get(gpu.id), { gpu })),
    nics: columns.flatMap(({ nics }) => nics).flatMap((name) => withBox(boxes.get(`nic ${name}`), { name })),
    buses,
    wires,
    counted,
  };
}

function withBox<Extra>(box: Box | undefined, extra: Extra): (Box & Extra)[] {
  return box === undefined ? [] : [{ ...box, ...extra }];
}

interface Column {
  readonly title: string;
  readonly gpus: readonly HostGpu[];
  readonly nics: readonly string[];
}

/** One for each NUMA node that has a device, and one for devices of which no node is known. */
function columnsOf({ numa, nics }: Host, gpus: readonly HostGpu[]): Column[] {
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

function place(
  ids: readonly string[],
  size: { readonly width: number; readonly height: number },
  left: number,
  inner: number,
  y: number,
  boxes: Map<string, Box>,
): void {
  const width = ids.length * (size.width + GAP) - GAP;
  const start = left + (inner - width) / 2;
  for (const [at, id] of ids.entries()) boxes.set(id, { x: start + at * (size.width + GAP), y, ...size });
}

interface LinkGroup {
  readonly kind: string;
  readonly label: string;
  readonly ids: readonly string[];
  readonly links: readonly HostLink[];
  readonly isBus: boolean;
}

/** Links of one label that hang together; a bar where each pair of three or more GPUs has one. */
function groupLinks(links: readonly HostLink[]): LinkGroup[] {
  const byLabel = new Map<string, HostLink[]>();
  for (const link of links) {
    const there = byLabel.get(link.label);
    if (there === undefined) byLabel.set(link.label, [link]);
    else there.push(link);
  }
  return [...byLabel.values()]
    .flatMap(connected)
    .sort((a, b) => CLOSENESS.indexOf(b.kind) - CLOSENESS.indexOf(a.kind));
}

/** Bars that do not lie above the same columns share a height. */
function lanesOf(groups: readonly LinkGroup[], columnOf: (id: string) => number): Map<LinkGroup, number> {
  const taken: Set<number>[] = [];
  const lanes = new Map<LinkGroup, number>();
  for (const group of groups.filter(({ isBus }) => isBus)) {
    const columns = group.ids.map(columnOf);
    const from = Math.min(...columns);
    const spanned = Array.from({ length: Math.max(...columns) - from + 1 }, (_, at) => from + at);
    let lane = taken.findIndex((others) => spanned.every((column) => !others.has(column)));
    if (lane === -1) lane = taken.push(new Set()) - 1;
    for (const column of spanned) taken[lane]?.add(column);
    lanes.set(group, lane);
  }
  return lanes;
}

function connected(links: readonly HostLink[]): LinkGroup[] {
  const rootOf = new Map<string, string>();
  const find = (id: string): string => {
    let root = id;
    for (let next = rootOf.get(root); next !== undefined && next !== root; next = rootOf.get(root))
      root = next;
    return root;
  };
  for (const { a, b } of links) rootOf.set(find(a), find(b));
  return [...groupBy(links, ({ a }) => find(a)).values()].map((part) => {
    const ids = [...new Set(part.flatMap(({ a, b }) => [a, b]))];
    const isBus = ids.length > 2 && part.length === (ids.length * (ids.length - 1)) / 2;
    return { kind: part[0]?.kind ?? '', label: part[0]?.label ?? '', ids, links: part, isBus };
  });
}

function arcOf(x1: number, x2: number, y: number, kind: string, label: string): Wire {
  const height = Math.min(30, 10 + Math.abs(x2 - x1) / 12);
  const middle = (x1 + x2) / 2;
  return {
    kind,
    label,
    path: `M${x1} ${y} C${x1} ${y - height * 1.3} ${x2} ${y - height * 1.3} ${x2} ${y}`,
    labelX: middle,
    labelY: y - height - 2,
  };
}

function lineOf(x1: number, y1: number, x2: number, y2: number, kind: string, label: string): Wire {
  return {
    kind,
    label,
    path: `M${x1} ${y1} C${x1} ${y1 + 18} ${x2} ${y2 - 18} ${x2} ${y2}`,
    labelX: (x1 + x2) / 2,
    labelY: (y1 + y2) / 2,
  };
}

interface NicLink {
  readonly kind: string;
  readonly label: string;
  readonly gpu: string;
  readonly nic: string;
}

function nicLink(
  { a, b, kind, label }: HostLink,
  gpus: ReadonlySet<string>,
  boxes: ReadonlyMap<string, Box>,
): NicLink[] {
  const [gpu, nic] = gpus.has(a) ? [a, `nic ${b}`] : [b, `nic ${a}`];
  return gpus.has(gpu) && boxes.has(nic) ? [{ kind, label, gpu, nic }] : [];
}

function countLabels(links: readonly NicLink[]): string[] {
  const counts = new Map<string, number>();
  for (const { label } of links) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].map(([label, count]) => `${label} between GPU and NIC: ${countOf(count, 'pair')}`);
}
