import { type Box, columnsOf, heightsOf, MAX_DEVICES, nicId, placeColumns } from './host-layout.js';
import type { Host, HostGpu } from './hosts.js';
import { type Bus, drawGroups, drawNicLinks, nicLink, type Wire } from './link-drawing.js';
import { groupLinks, lanesOf } from './link-groups.js';

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

/** Lays out one host: NUMA nodes side by side, GPUs in them, NICs below, links between. */
export function drawHost(host: Host): HostDrawing {
  const shownGpus = host.gpus.slice(0, MAX_DEVICES);
  const gpuIds = new Set(shownGpus.map(({ id }) => id));
  const groups = groupLinks(host.links.filter(({ a, b }) => gpuIds.has(a) && gpuIds.has(b)));
  const columns = columnsOf(host, shownGpus);
  const lanes = lanesOf(groups, (id) => columns.findIndex(({ gpus }) => gpus.some((gpu) => gpu.id === id)));
  const heights = heightsOf(columns, groups, lanes);
  const { boxes, numa, width } = placeColumns(columns, heights);
  const centerOf = (id: string): number => {
    const box = boxes.get(id);
    return box === undefined ? 0 : box.x + box.width / 2;
  };
  const toGpus = drawGroups(groups, lanes, centerOf, heights);
  const toNics = drawNicLinks(
    host.links.flatMap((link) => nicLink(link, gpuIds, boxes)),
    centerOf,
    heights,
  );
  return {
    width,
    height: heights.whole,
    numa,
    gpus: shownGpus.flatMap((gpu) => withBox(boxes.get(gpu.id), { gpu })),
    nics: columns.flatMap(({ nics }) => nics).flatMap((name) => withBox(boxes.get(nicId(name)), { name })),
    buses: toGpus.buses,
    wires: [...toGpus.wires, ...toNics.wires],
    counted: [...toGpus.counted, ...toNics.counted],
  };
}

function withBox<Extra>(box: Box | undefined, extra: Extra): (Box & Extra)[] {
  return box === undefined ? [] : [{ ...box, ...extra }];
}
