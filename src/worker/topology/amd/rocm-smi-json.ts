import { type JsonObject, objectOf } from '../../../edge/platform/data/json-object.js';
import { Gpu, GpuLink, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { MAX_GPUS, MAX_NUMA_NODES, plainText } from '../limits.js';
import { pciBusIdOf } from '../pci-bus-id.js';
import { TopologyError } from '../reader.js';
import { linkKindOf } from './amd-smi-json.js';
import { countOf, textOf } from './json-values.js';

const LINK = /^\(topology\) link type between drm devices (\d{1,4}) and (\d{1,4})$/;

/**
 * Reads the JSON of `rocm-smi`: one member `cardN` for each GPU and `system`
 * for what concerns pairs. Members changed case over the releases (`Card
 * series`, `Card Series`), so case does not count. All values are text.
 */
export function parseRocmSmi(devices: unknown, topology: unknown): Topology {
  const gpus: Gpu[] = [];
  for (const [name, value] of Object.entries(objectOf(devices))) {
    const index = /^card(\d{1,4})$/.exec(name)?.[1];
    if (index === undefined) continue;
    if (gpus.length === MAX_GPUS)
      throw new TopologyError(`rocm-smi lists more than ${MAX_GPUS} GPUs, which is the limit`);
    gpus.push(gpuOf(Number(index), lowerCase(objectOf(value))));
  }
  const system = lowerCase(objectOf(objectOf(devices)['system']));
  const { links, notes } = linksOf(lowerCase(objectOf(objectOf(topology)['system'])), gpus);
  return Topology.create({ gpus, links, notes, driverVersion: textOf(system['driver version']) });
}

function gpuOf(index: number, card: JsonObject): Gpu {
  const serial = /^0x([0-9a-f]{1,16})$/i.exec(textOf(card['unique id']) ?? '')?.[1];
  const bytes = textOf(card['vram total memory (b)']);
  return Gpu.create({
    uuid: serial === undefined ? '' : `GPU-${serial.toLowerCase().padStart(16, '0')}`,
    index,
    // "Device Name" came with ROCm 6.2.
    productName: textOf(card['card series']) ?? textOf(card['device name']) ?? '',
    architecture: textOf(card['gfx version']),
    memoryBytes: bytes !== undefined && /^\d{1,18}$/.test(bytes) ? BigInt(bytes) : undefined,
    pciBusId: pciBusIdOf(textOf(card['pci bus']) ?? '') ?? '',
    numaNode:
      countOf(card['(topology) numa affinity'], MAX_NUMA_NODES) ??
      countOf(card['(topology) numa node'], MAX_NUMA_NODES),
  });
}

function linksOf(system: JsonObject, gpus: readonly Gpu[]): { links: GpuLink[]; notes: string[] } {
  const names = new Map(gpus.map((gpu) => [gpu.index, gpu.uuid || gpu.pciBusId]));
  const links: GpuLink[] = [];
  const notes = new Set<string>();
  for (const [key, value] of Object.entries(system)) {
    const pair = LINK.exec(key);
    if (pair === null) continue;
    const a = names.get(Number(pair[1]));
    const b = names.get(Number(pair[2]));
    const type = textOf(value) ?? '';
    const kind = linkKindOf(type);
    if (kind === undefined) notes.add(`rocm-smi: unknown link ${plainText(type, 32)} is left out`);
    else if (a !== undefined && b !== undefined && a !== b) links.push(GpuLink.create({ a, b, kind }));
  }
  return { links, notes: [...notes] };
}

function lowerCase(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name.toLowerCase(), value]));
}
