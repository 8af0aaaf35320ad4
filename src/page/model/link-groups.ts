import { groupBy } from '../../core/data/group-by.js';
import type { HostLink } from './hosts.js';

/** The closest first, as `nvidia-smi topo -m` orders them: they get the bars next to the GPUs. */
const CLOSENESS = ['NVLINK', 'XGMI', 'PIX', 'PXB', 'PHB', 'PCIE', 'NODE', 'SYS'];

/** Lines of one kind that can still be followed. */
const MAX_WIRES = 24;
/** Links through the processor: the boxes of the NUMA nodes say as much, unless all have them. */
const FAR: readonly string[] = ['NODE', 'SYS'];

/** GPUs that links of one label connect, each with every other or by way of them. */
export interface LinkGroup {
  readonly kind: string;
  readonly label: string;
  /** Of its GPUs. */
  readonly ids: readonly string[];
  readonly links: readonly HostLink[];
  /** Each pair of three or more GPUs has such a link: one bar stands for all. */
  readonly isBus: boolean;
}

/** Links of one label that hang together; a bar where each pair of three or more GPUs has one. */
export function groupLinks(links: readonly HostLink[]): LinkGroup[] {
  return [...groupBy(links, ({ label }) => label).values()]
    .flatMap(connected)
    .sort((a, b) => CLOSENESS.indexOf(b.kind) - CLOSENESS.indexOf(a.kind));
}

/** The height of each bar, counted from above. Bars that do not lie above the same columns share one. */
export function lanesOf(
  groups: readonly LinkGroup[],
  columnOf: (id: string) => number,
): Map<LinkGroup, number> {
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

/** Whether each link of a group is drawn by itself; else they are one bar, or counted. */
export function isDrawnAsArcs({ isBus, kind, links }: LinkGroup): boolean {
  return !isBus && links.length <= MAX_WIRES && !FAR.includes(kind);
}
