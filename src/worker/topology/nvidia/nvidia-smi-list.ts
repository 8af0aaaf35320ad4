import type { Host } from '../../../edge/platform/processes/host.js';
import { Gpu, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { MAX_GPUS, plainText } from '../limits.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';

/** One slice of a GPU as `nvidia-smi -L` lists it. */
export interface ListedMigDevice {
  /** Counts within its GPU: `Device  0`. */
  readonly index: number;
  readonly uuid: string;
  /** `1g.20gb`. */
  readonly profile: string;
}

/** One GPU as `nvidia-smi -L` lists it. */
export interface ListedGpu {
  /** The number that `nvidia-smi topo -m` uses in the same container. */
  readonly index: number;
  readonly uuid: string;
  readonly productName: string;
  readonly migDevices: readonly ListedMigDevice[];
}

const GPU_LINE = /^GPU (\d{1,4}): (.{1,512}) \(UUID: (GPU-[0-9a-f-]{8,64})\)$/i;
const MIG_LINE = /^MIG (\S{1,64})\s+Device\s+(\d{1,4}): \(UUID: (MIG-[0-9a-z/-]{8,80})\)$/i;

/**
 * Reads the output of `nvidia-smi -L`:
 *
 *     GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-513536b6-…)
 *       MIG 1g.20gb     Device  0: (UUID: MIG-ce861fb0-…)
 *
 * Lines of another form are passed over: the driver puts warnings among them.
 */
export function parseNvidiaSmiList(text: string): ListedGpu[] {
  const gpus: { index: number; uuid: string; productName: string; migDevices: ListedMigDevice[] }[] = [];
  let deviceCount = 0;
  for (const line of text.split('\n')) {
    const gpu = GPU_LINE.exec(line.trim());
    const mig = MIG_LINE.exec(line.trim());
    if (gpu === null && mig === null) continue;
    if (++deviceCount > MAX_GPUS)
      throw new TopologyError(`nvidia-smi -L lists more than ${MAX_GPUS} devices, which is the limit`);
    if (gpu !== null) {
      const [, index = '', name = '', uuid = ''] = gpu;
      gpus.push({ index: Number(index), uuid, productName: plainText(name), migDevices: [] });
    } else if (mig !== null) {
      const [, profile = '', index = '', uuid = ''] = mig;
      gpus.at(-1)?.migDevices.push({ index: Number(index), uuid, profile });
    }
  }
  return gpus;
}

/** Names and UUIDs from `nvidia-smi -L`; for MIG it is the only source of UUIDs. */
export const nvidiaSmiListReader: TopologyReader = {
  name: 'nvidia-smi-list',
  async read(host: Host, signal: AbortSignal): Promise<TopologyPart> {
    const output = await host.run('nvidia-smi', ['-L'], signal);
    // That nvidia-smi is not here, or fails, is noted once, by nvidia-smi-query.
    if (output === undefined || output.exitCode !== 0) return { topology: Topology.create() };
    const listed = parseNvidiaSmiList(output.stdout);
    if (listed.length === 0 && output.stdout.trim() !== '')
      throw new TopologyError(`nvidia-smi -L lists no GPU but says: ${plainText(output.stdout)}`);
    const gpus = listed.flatMap((gpu) => [
      Gpu.create({ uuid: gpu.uuid, index: gpu.index, productName: gpu.productName }),
      ...gpu.migDevices.map((mig) =>
        Gpu.create({
          uuid: mig.uuid,
          productName: gpu.productName,
          migProfile: mig.profile,
          parentUuid: gpu.uuid,
        }),
      ),
    ]);
    return { topology: Topology.create({ gpus }) };
  },
};
