import type { Clock } from '../../edge/platform/clock.js';
import { messageOf } from '../../edge/platform/describe-error.js';
import { readTextFile } from '../../edge/platform/files/file.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { loadPart } from '../../edge/platform/processes/load-part.js';
import { Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { SettingError } from '../setting-error.js';
import { readSettingFile } from '../setting-file.js';

/** Where a worker runs, and how that is found out. */
export interface TopologySettings {
  /** `auto` reads this host, `off` nothing; else the path of a recorded topology. */
  readonly topology: string;
  /** Where the host's files are. */
  readonly hostRoot: string;
  /** A file that says which GPUs the engine has. */
  readonly engineDevices: string | undefined;
  readonly nodeName: string | undefined;
  readonly zone: string | undefined;
  readonly rack: string | undefined;
}

export interface TopologyModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly environment: Environment;
  /** Aborts when the process is to end. */
  readonly signal: AbortSignal;
}

/** Largest file of an engine's devices, in bytes: a line for each GPU. */
const MAX_DEVICES_BYTES = 64 * 1024;

/**
 * Makes what reads the topology; undefined where that is off. The readers are
 * loaded when they read: their parsers would delay the first answer, and the
 * topology comes after that anyway. A recorded topology that cannot be read
 * rejects with a `SettingError`.
 */
export async function openTopology(
  settings: TopologySettings,
  modules: TopologyModules,
): Promise<((signal: AbortSignal) => Promise<Topology>) | undefined> {
  const { clock, environment } = modules;
  const { topology, hostRoot, engineDevices } = settings;
  const readDevices =
    engineDevices === undefined
      ? {}
      : { readDevices: () => readSettingFile('--engine-devices', engineDevices, MAX_DEVICES_BYTES) };
  if (topology === 'off') return undefined;
  const load = async () => {
    const [{ openHost }, { readTopology }] = await Promise.all([
      import('../../edge/platform/processes/host.js'),
      import('../../worker/topology/read-topology.js'),
    ]);
    const placed = { ...environment, ...placementOf(settings) };
    return { host: openHost({ rootFolder: hostRoot, environment: placed }), readTopology };
  };
  if (topology === 'auto') {
    return async (signal) => {
      const part = await loadPart(
        () => Promise.all([load(), import('../../worker/topology/readers.js')]),
        modules,
      );
      if (part === undefined) return Topology.create();
      const [{ host, readTopology }, { topologyReaders }] = part;
      return readTopology({ readers: topologyReaders, host, clock, ...readDevices }, signal);
    };
  }
  const { topologyFileReader } = await import('../../worker/topology/topology-file.js');
  const reader = topologyFileReader({ path: topology }, { readFile: readTextFile });
  const { host, readTopology } = await load();
  try {
    await reader.read(host, new AbortController().signal);
  } catch (error) {
    throw new SettingError(`--topology: ${messageOf(error)}`);
  }
  return (signal) => readTopology({ readers: [reader], host, clock, onlyVisible: false }, signal);
}

/** Where the operator says that the worker runs, under the names that the placement reader looks for first. */
function placementOf({ nodeName, zone, rack }: TopologySettings): Environment {
  return {
    ...(nodeName === undefined ? {} : { KV_ACCORD_NODE_NAME: nodeName }),
    ...(zone === undefined ? {} : { KV_ACCORD_ZONE: zone }),
    ...(rack === undefined ? {} : { KV_ACCORD_RACK: rack }),
  };
}
