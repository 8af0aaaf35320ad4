import { type JsonObject, objectOf } from '../../../edge/platform/data/json-object.js';
import { Gpu, GpuLink, LinkKind, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { kernelListOf } from '../cpu-list.js';
import { MAX_GPUS, MAX_NUMA_NODES, plainText } from '../limits.js';
import { pciBusIdOf } from '../pci-bus-id.js';
import { TopologyError } from '../reader.js';
import { arrayOf, countOf, textOf } from './json-values.js';

const UNIT_BYTES: ReadonlyMap<string, bigint> = new Map([
  ['B', 1n],
  // The tool divides by 1024: 196,592 "MB" are what the driver has in MiB.
  ['KB', 1_024n],
  ['MB', 1_048_576n],
  ['GB', 1_073_741_824n],
]);

/**
 * Reads the JSON of `amd-smi static`, `amd-smi topology` and `amd-smi list`.
 * The list of GPUs stands bare, or since ROCm 7 in `gpu_data`. Links come as a
 * list for each GPU, before ROCm 6.3 as maps keyed `gpu_N`. All three number
 * GPUs alike within one installation; what leaves here is named by uuid.
 */
export function parseAmdSmi(devices: unknown, topology: unknown, list: unknown): Topology {
  const entries = gpusOf(devices);
  const listed = new Map(gpusOf(list).map((entry) => [textOf(entry['gpu']), entry]));
  const serials = entries.map((entry) => serialOf(entry));
  const gpus = entries.map((entry, at) => {
    const serial = serials[at];
    // Partitions of one GPU share its serial number, so it names a GPU only when it is the only one.
    const unique = serial !== undefined && serials.filter((one) => one === serial).length === 1;
    const fromList = listed.get(textOf(entry['gpu']));
    const uuid = unique ? `GPU-${serial}` : (textOf(fromList?.['uuid']) ?? '');
    return gpuOf(entry, uuid, textOf(objectOf(entry['bus'])['bdf']) ?? textOf(fromList?.['bdf']));
  });
  const driver = entries.map((entry) => textOf(objectOf(entry['driver'])['version']))[0];
  const { links, notes } = linksOf(gpusOf(topology), gpus);
  return Topology.create({ gpus, links, notes, driverVersion: driver });
}

function gpusOf(json: unknown): readonly JsonObject[] {
  const entries = arrayOf(Array.isArray(json) ? json : (objectOf(json)['gpu_data'] ?? [json])).map(objectOf);
  if (entries.length > MAX_GPUS)
    throw new TopologyError(`amd-smi lists ${entries.length} GPUs; at most ${MAX_GPUS} are read`);
  return entries.filter((entry) => textOf(entry['gpu']) !== undefined);
}

/** The serial number as ROCm's runtime writes it in `GPU-dc91284879207f2b`. */
function serialOf(entry: JsonObject): string | undefined {
  const serial = textOf(objectOf(entry['asic'])['asic_serial']);
  const hex = /^0x([0-9a-f]{1,16})$/i.exec(serial ?? '')?.[1];
  return hex === undefined || /^0+$/.test(hex) ? undefined : hex.toLowerCase().padStart(16, '0');
}

function gpuOf(entry: JsonObject, uuid: string, bdf: string | undefined): Gpu {
  const asic = objectOf(entry['asic']);
  const numa = objectOf(entry['numa']);
  const size = objectOf(objectOf(entry['vram'])['size']);
  const amount = countOf(size['value'], Number.MAX_SAFE_INTEGER);
  const unitBytes = UNIT_BYTES.get(textOf(size['unit']) ?? '');
  return Gpu.create({
    uuid,
    index: countOf(entry['gpu'], MAX_GPUS * 16),
    productName: textOf(asic['market_name']) ?? '',
    architecture: textOf(asic['target_graphics_version']),
    memoryBytes: amount === undefined || unitBytes === undefined ? undefined : BigInt(amount) * unitBytes,
    pciBusId: pciBusIdOf(bdf ?? '') ?? '',
    numaNode: countOf(numa['affinity'], MAX_NUMA_NODES) ?? countOf(numa['node'], MAX_NUMA_NODES),
    cpuAffinity: affinityOf(numa['cpu_affinity']),
  });
}

/** The kernel lists of all `cpu_list_N`, joined. */
function affinityOf(value: unknown): string | undefined {
  const lists = Object.values(objectOf(value)).map((list) => textOf(objectOf(list)['cpu_cores_affinity']));
  return kernelListOf(lists.filter((list) => list !== undefined && list !== '').join(','));
}

function linksOf(
  entries: readonly JsonObject[],
  gpus: readonly Gpu[],
): { links: GpuLink[]; notes: string[] } {
  const names = new Map(gpus.map((gpu) => [String(gpu.index), gpu.uuid || gpu.pciBusId]));
  const links = new Map<string, GpuLink>();
  const notes = new Set<string>();
  for (const entry of entries) {
    const from = textOf(entry['gpu']) ?? '';
    for (const [to, type] of typesOf(entry)) {
      const a = names.get(from);
      const b = names.get(to);
      if (type === 'SELF' || a === undefined || b === undefined || a === b) continue;
      const kind = linkKindOf(type);
      if (kind === undefined) {
        notes.add(`amd-smi topology: unknown link ${plainText(type, 32)} is left out`);
        continue;
      }
      // Both directions are listed; one is kept.
      if (!links.has(`${b} ${a}`)) links.set(`${a} ${b}`, GpuLink.create({ a, b, kind }));
    }
  }
  return { links: [...links.values()], notes: [...notes] };
}

/** Pairs of the other GPU's number and the link's type. */
function typesOf(entry: JsonObject): [string, string][] {
  const fromList = arrayOf(entry['links'])
    .map(objectOf)
    .map((link): [string, string] => [textOf(link['gpu']) ?? '', textOf(link['link_type']) ?? '']);
  const fromMap = Object.entries(objectOf(entry['link_type'])).map(([key, type]): [string, string] => [
    key.replace(/^gpu_/, ''),
    textOf(type) ?? '',
  ]);
  return [...fromList, ...fromMap].filter(([, type]) => type !== '').slice(0, MAX_GPUS * 2);
}

/** The kind for `XGMI` or `PCIE`; undefined for other words. */
export function linkKindOf(type: string): LinkKind | undefined {
  if (type === 'XGMI') return LinkKind.XGMI;
  return type === 'PCIE' ? LinkKind.PCIE : undefined;
}
