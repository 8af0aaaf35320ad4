import { UNKNOWN_SHARE } from '../../core/contract/topology/unknown-share.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { Gpu, type Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { type ListedGpu, parseNvidiaSmiList } from './nvidia/nvidia-smi-list.js';

/** What the engine's container wrote of its GPUs. */
export interface EngineDevices {
  /** The variables that narrow GPUs, as they are there. */
  readonly variables: Readonly<Record<string, string>>;
  /** What `nvidia-smi -L` lists there. */
  readonly listed: readonly ListedGpu[];
}

/** Variables that say which GPUs a container has, or an engine opens. */
const VARIABLES = [
  'NVIDIA_VISIBLE_DEVICES',
  'CUDA_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
];
/** Most lines that are looked at; 256 devices and four variables are less. */
const MAX_LINES = 1_024;

/**
 * Reads the file that the engine's container shares: what `nvidia-smi -L`
 * prints there, lines `NAME=VALUE` of the variables above, or both. Other
 * lines are passed over, so that all of `env` may stand in it.
 */
export function parseEngineDevices(text: string): EngineDevices {
  const lines = text.split('\n', MAX_LINES);
  const variables: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(0, at)).trim();
    if (VARIABLES.includes(name)) variables[name] = line.slice(at + 1).trim();
  }
  return { variables, listed: parseNvidiaSmiList(lines.join('\n')) };
}

/**
 * The environment by which GPUs are narrowed: the engine's own where its
 * container shared it. A list is worth more than `NVIDIA_VISIBLE_DEVICES`,
 * which runtimes set to `void` or to a path; where a GPU is cut into slices,
 * the container has the listed slices and not the whole.
 */
export function environmentOf(own: Environment, devices: EngineDevices | undefined): Environment {
  if (devices === undefined) return own;
  const environment: Record<string, string | undefined> = { ...own };
  for (const name of VARIABLES) delete environment[name];
  Object.assign(environment, devices.variables);
  const uuids = devices.listed.flatMap(({ uuid, migDevices }) =>
    migDevices.length === 0 ? [uuid] : migDevices.map((mig) => mig.uuid),
  );
  if (uuids.length > 0) environment['NVIDIA_VISIBLE_DEVICES'] = uuids.join(',');
  return environment;
}

/** GPUs as the engine's container listed them, for a sidecar that is given none itself. */
export function listedGpus({ listed }: EngineDevices): readonly Gpu[] {
  return listed.flatMap(({ index, uuid, productName, migDevices }) =>
    migDevices.length === 0
      ? [Gpu.create({ uuid, index, productName })]
      : migDevices.map((mig) =>
          Gpu.create({ uuid: mig.uuid, productName, migProfile: mig.profile, parentUuid: uuid }),
        ),
  );
}

/**
 * What cannot be known of the GPUs that a sidecar sees in a pod; undefined
 * where it can. A device plugin names the devices of a container in
 * `NVIDIA_VISIBLE_DEVICES`, and CDI and DRA leave `void` there and give the
 * container exactly its own; unset or `all`, it sees those of the node.
 */
export function unknownShareOf(
  topology: Topology,
  environment: Environment,
  devices: EngineDevices | undefined,
): string | undefined {
  const isInPod = (environment['KUBERNETES_SERVICE_HOST'] ?? '') !== '';
  const isAmd = topology.gpus.some((gpu) => gpu.architecture?.startsWith('gfx') === true);
  const given = environment[isAmd ? 'ROCR_VISIBLE_DEVICES' : 'NVIDIA_VISIBLE_DEVICES']?.trim() ?? '';
  if (!isInPod || devices !== undefined || topology.gpus.length === 0) return undefined;
  if (given !== '' && given !== 'all') return undefined;
  return `${UNKNOWN_SHARE}: the sidecar's container may see all of the node; share the claim, or a file by --engine-devices`;
}
