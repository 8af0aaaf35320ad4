import type { Host } from '../../../edge/platform/processes/host.js';
import { Gpu, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { MAX_GPUS, plainText } from '../limits.js';
import { pciBusIdOf } from '../pci-bus-id.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';

const FOLDER = '/proc/driver/nvidia/gpus';

/**
 * Reads one `/proc/driver/nvidia/gpus/<address>/information`: lines of a name,
 * a colon, blanks and a value. Undefined when it names neither a GPU nor an
 * address. Until a GPU is first used the driver shows its UUID as
 * `GPU-????????-????-…`, which is none.
 * @internal
 */
export function parseNvidiaInformation(text: string): Gpu | undefined {
  const values = new Map<string, string>();
  for (const line of text.split('\n', 64)) {
    const colon = line.indexOf(':');
    if (colon > 0) values.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  const uuid = values.get('GPU UUID') ?? '';
  const pciBusId = pciBusIdOf(values.get('Bus Location') ?? '');
  const known = /^GPU-[0-9a-f-]{8,64}$/i.test(uuid);
  if (!known && pciBusId === undefined) return undefined;
  return Gpu.create({
    uuid: known ? uuid : '',
    productName: plainText(values.get('Model') ?? ''),
    pciBusId: pciBusId ?? '',
  });
}

/**
 * NVIDIA GPUs from the driver's own files: needs no program and no device.
 * Only the classic mode of the NVIDIA container runtime narrows the folder to
 * the container's GPUs; else all of the host are there.
 */
export const procNvidiaReader: TopologyReader = {
  name: 'proc-nvidia',
  async read(host: Host): Promise<TopologyPart> {
    const addresses = await host.listFolder(FOLDER);
    if (addresses.length > MAX_GPUS)
      throw new TopologyError(`${FOLDER} has ${addresses.length} GPUs; at most ${MAX_GPUS} are read`);
    const texts = await Promise.all(
      addresses.map((address) => host.readFile(`${FOLDER}/${address}/information`)),
    );
    const gpus = texts.flatMap((text) => parseNvidiaInformation(text ?? '') ?? []);
    const version = await host.readFile('/proc/driver/nvidia/version');
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 …", also "… Open Kernel Module for x86_64  …".
    const driverVersion = /\bKernel Module\b[^\d\n]*(?:x86_64)?\s+(\d[\d.]{2,31})\b/.exec(version ?? '')?.[1];
    return { topology: Topology.create({ gpus, driverVersion }), wholeHost: true };
  },
};
