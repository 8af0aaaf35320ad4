import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { isJsonObject } from '../../../edge/platform/data/json-object.js';
import { Gpu, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { MAX_GPUS, plainText } from '../limits.js';
import { pciBusIdOf } from '../pci-bus-id.js';
import { TopologyError } from '../reader.js';
import type { ListedGpu } from './nvidia-smi-list.js';

const COMMAND = 'nvidia-smi -q -x';
/** The document nests 6 deep. */
const MAX_NESTED_TAGS = 32;

/**
 * Without entities: the document has none, and a few nested ones would blow up
 * to gigabytes. Values stay text, so that a UUID of digits is not a number.
 */
const parser: XMLParser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  processEntities: false,
  parseTagValue: false,
  parseAttributeValue: false,
  maxNestedTags: MAX_NESTED_TAGS,
});

type Node = { readonly [name: string]: unknown };

/**
 * Reads the output of `nvidia-smi -q -x`, document types `nvsmi_device_v10` to
 * `v13` (drivers 430 to 595). Of the fields here `product_architecture` came
 * with v11, `fabric` with v12, and its `cliqueId` and `clusterUuid` later
 * still. NUMA nodes and links are not in it. `mig_device` has no UUID: those
 * come from `nvidia-smi -L` of the same container, joined by the GPU's UUID
 * and the slice's number within it.
 */
export function parseNvidiaSmiQuery(xml: string, listed: readonly ListedGpu[] = []): Topology {
  const log = documentOf(xml);
  const gpus: Gpu[] = [];
  for (const gpu of nodesOf(log['gpu'])) {
    const parent = gpuOf(gpu, gpus.filter((one) => one.parentUuid === undefined).length);
    gpus.push(parent, ...migDevicesOf(gpu, parent, listed));
    if (gpus.length > MAX_GPUS)
      throw new TopologyError(`${COMMAND} lists more than ${MAX_GPUS} devices, which is the limit`);
  }
  return Topology.create({
    gpus,
    driverVersion: textAt(log, 'driver_version'),
    cudaVersion: textAt(log, 'cuda_version'),
  });
}

function documentOf(xml: string): Node {
  if (/<!ENTITY/i.test(xml)) throw new TopologyError(`${COMMAND} declares XML entities, which it never does`);
  const valid = XMLValidator.validate(xml);
  let root: unknown;
  try {
    root = valid === true ? parser.parse(xml) : undefined;
  } catch (error) {
    throw new TopologyError(`${COMMAND} printed XML that cannot be read: ${plainText(String(error))}`);
  }
  if (valid !== true)
    throw new TopologyError(
      `${COMMAND} printed broken XML (line ${valid.err.line}: ${plainText(valid.err.msg)}), starting with ${JSON.stringify(plainText(xml.slice(0, 80)))}`,
    );
  const log = isJsonObject(root) ? root['nvidia_smi_log'] : undefined;
  if (!isJsonObject(log))
    throw new TopologyError(
      `${COMMAND} printed no <nvidia_smi_log>, but ${JSON.stringify(plainText(xml.slice(0, 80)))}`,
    );
  return log;
}

function gpuOf(gpu: Node, index: number): Gpu {
  const uuid = textAt(gpu, 'uuid') ?? '';
  // Documents cut to the essentials keep the address only as the `id` of the element.
  const busId = textAt(gpu, 'pci', 'pci_bus_id') ?? textAt(gpu, '@id') ?? '';
  return Gpu.create({
    uuid,
    index,
    productName: textAt(gpu, 'product_name') ?? '',
    architecture: textAt(gpu, 'product_architecture'),
    memoryBytes: memoryOf(gpu),
    pciBusId: pciBusIdOf(busId) ?? '',
    ...fabricOf(gpu),
  });
}

/**
 * The NVLink fabric that spans servers. It counts only when the GPU has joined
 * it: on servers without one some drivers say `Completed` with a cluster of
 * zeros, and all such GPUs would seem to be in one fabric.
 */
function fabricOf(gpu: Node): { fabricClusterUuid?: string; fabricCliqueId?: string } {
  const clusterUuid = textAt(gpu, 'fabric', 'clusterUuid');
  const cliqueId = textAt(gpu, 'fabric', 'cliqueId');
  if (clusterUuid === undefined || cliqueId === undefined || /^[0-]*$/.test(clusterUuid)) return {};
  return { fabricClusterUuid: clusterUuid, fabricCliqueId: cliqueId };
}

function migDevicesOf(gpu: Node, parent: Gpu, listed: readonly ListedGpu[]): Gpu[] {
  const devices = isJsonObject(gpu['mig_devices']) ? nodesOf(gpu['mig_devices']['mig_device']) : [];
  const names = listed.find((one) => one.uuid === parent.uuid)?.migDevices ?? [];
  return devices.flatMap((device) => {
    const name = names.find((one) => String(one.index) === textAt(device, 'index'));
    const gi = textAt(device, 'gpu_instance_id');
    const ci = textAt(device, 'compute_instance_id');
    // Before drivers named slices by their own UUIDs they were named by GPU, GPU instance and compute instance.
    const uuid = name?.uuid ?? `MIG-${parent.uuid}/${gi}/${ci}`;
    if (name === undefined && (parent.uuid === '' || gi === undefined || ci === undefined)) return [];
    return [
      Gpu.create({
        uuid,
        productName: parent.productName,
        architecture: parent.architecture,
        memoryBytes: memoryOf(device),
        pciBusId: parent.pciBusId,
        migProfile: name?.profile,
        parentUuid: parent.uuid,
      }),
    ];
  });
}

/** `81920 MiB` in bytes. */
function memoryOf(device: Node): bigint | undefined {
  const match = /^(\d{1,12}) MiB$/.exec(textAt(device, 'fb_memory_usage', 'total') ?? '');
  return match?.[1] === undefined ? undefined : BigInt(match[1]) * 1_048_576n;
}

/** Words by which nvidia-smi says that it has no value. */
const NO_VALUE =
  /^(?:\[?N\/A\]?|\[?Not Supported\]?|Requested functionality has been deprecated|None|Not Found|ERR!|Unknown Error|)$/i;

function textAt(node: Node, ...path: readonly string[]): string | undefined {
  let value: unknown = node;
  for (const name of path)
    value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (typeof value !== 'string' || NO_VALUE.test(value.trim())) return undefined;
  return plainText(value);
}

function nodesOf(value: unknown): readonly Node[] {
  return (Array.isArray(value) ? value : [value]).filter(isJsonObject);
}
