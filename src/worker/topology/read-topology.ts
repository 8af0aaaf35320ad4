import type { Clock } from '../../edge/platform/clock.js';
import { messageOf } from '../../edge/platform/describe-error.js';
import type { CommandOutput, Host } from '../../edge/platform/processes/host.js';
import { watchDeadline } from '../../edge/platform/time/deadline.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { Topology } from '../../gen/kvaccord/v1/capabilities.js';
import {
  type EngineDevices,
  environmentOf,
  listedGpus,
  parseEngineDevices,
  unknownShareOf,
} from './engine-devices.js';
import { MAX_NOTE_CHARS, MAX_NOTES, plainText } from './limits.js';
import { mergeTopology, type NamedPart } from './merge-topology.js';
import type { TopologyReader } from './reader.js';
import { visibleGpus } from './visible-gpus.js';

/** How long one reading may take by default; `nvidia-smi` needs seconds when it has to load the driver. */
const TOPOLOGY_TIMEOUT_MS = 15_000;

/** What one reading needs. */
export interface ReadTopologyOptions {
  /** In order of trust: where two say different things the first wins. */
  readonly readers: readonly TopologyReader[];
  readonly host: Host;
  readonly clock: Clock;
  /** Milliseconds for all readers together; those that are not done by then become notes. Default 15,000. */
  readonly timeoutMs?: number;
  /**
   * Whether to leave out GPUs that the engine's environment hides. Default
   * true; false for a recorded topology, which is already the worker's own.
   */
  readonly onlyVisible?: boolean;
  /**
   * Reads the file that the engine's container shares with its GPUs; absent
   * where none is named. Rejects when it cannot be read, which becomes a note.
   */
  readonly readDevices?: () => Promise<string>;
}

/**
 * Reads the topology of this worker: all readers side by side, merged, and
 * narrowed to the worker's own GPUs. Never rejects, also not when aborted: a
 * reader that fails, or does not end in time, is a note, and that there is no
 * GPU is a stated fact (`no GPU found: nvidia-smi not on PATH`).
 */
export async function readTopology(options: ReadTopologyOptions, signal: AbortSignal): Promise<Topology> {
  const { readers, clock, timeoutMs = TOPOLOGY_TIMEOUT_MS } = options;
  const over = new AbortController();
  const host = sharingCommands(options.host);
  const limit = new Promise<string>((resolve) => {
    const stopWatching = watchDeadline({ timeoutMs, signal }, { clock }, (why) => {
      over.abort();
      resolve(why === 'aborted' ? 'was stopped' : `did not end within ${timeoutMs} ms`);
    });
    onAbort(over.signal, stopWatching);
  });

  const failures: string[] = [];
  const parts = await Promise.all(
    readers.map(async (reader): Promise<NamedPart | undefined> => {
      try {
        const part = await Promise.race([
          reader.read(host, over.signal),
          limit.then((why) => Promise.reject(new Error(why))),
        ]);
        return { reader: reader.name, part };
      } catch (error) {
        failures.push(`${reader.name}: ${messageOf(error)}`);
        return undefined;
      }
    }),
  );
  over.abort();
  const devices = await devicesOf(options, failures);
  return finished(
    parts.filter((part) => part !== undefined),
    failures,
    devices,
    options,
  );
}

/** What the engine's container shares; undefined, with the reason among the failures, where that is nothing yet. */
async function devicesOf(
  { readDevices }: ReadTopologyOptions,
  failures: string[],
): Promise<EngineDevices | undefined> {
  if (readDevices === undefined) return undefined;
  try {
    const devices = parseEngineDevices(await readDevices());
    if (devices.listed.length > 0 || Object.keys(devices.variables).length > 0) return devices;
    failures.push(
      '--engine-devices: names no GPU; what nvidia-smi -L prints is expected, or NVIDIA_VISIBLE_DEVICES=…',
    );
  } catch (error) {
    failures.push(`--engine-devices: ${messageOf(error)}`);
  }
  return undefined;
}

function finished(
  parts: readonly NamedPart[],
  failures: readonly string[],
  devices: EngineDevices | undefined,
  options: ReadTopologyOptions,
): Topology {
  const read = mergeTopology(parts);
  const isBlind = read.gpus.length === 0 && devices !== undefined;
  const merged = isBlind ? { ...read, gpus: [...listedGpus(devices)] } : read;
  const environment = environmentOf(options.host.environment, devices);
  const topology = options.onlyVisible === false ? merged : visibleGpus(merged, environment);
  const unknown =
    options.onlyVisible === false ? undefined : unknownShareOf(topology, options.host.environment, devices);
  const facts = merged.gpus.length === 0 ? absences(parts) : wholeHostNotes(parts);
  const notes = [...(unknown === undefined ? [] : [unknown]), ...facts, ...failures, ...topology.notes].map(
    (note) => plainText(note, MAX_NOTE_CHARS),
  );
  return { ...topology, notes: [...new Set(notes)].slice(0, MAX_NOTES) };
}

function absences(parts: readonly NamedPart[]): string[] {
  const reasons = parts.flatMap(({ part }) => part.absent ?? []);
  const addresses = new Set(parts.flatMap(({ part }) => part.topology.gpus.map((gpu) => gpu.pciBusId)));
  return [
    ...reasons.map((reason) => `no GPU found: ${reason}`),
    ...(addresses.size === 0
      ? []
      : [`the PCI bus of this host shows GPUs (${addresses.size}), but none that this process can use`]),
  ];
}

function wholeHostNotes(parts: readonly NamedPart[]): string[] {
  const has = (wholeHost: boolean): boolean =>
    parts.some(({ part }) => (part.wholeHost === true) === wholeHost && part.topology.gpus.length > 0);
  if (has(false) || !has(true)) return [];
  return ['only the driver shows GPUs, and it may show those of other containers too'];
}

/**
 * The same machine, but each command runs once for all readers that ask for
 * it: `nvidia-smi` takes up to seconds, and answers of one moment fit together.
 */
function sharingCommands(host: Host): Host {
  const runs = new Map<string, Promise<CommandOutput | undefined>>();
  return {
    environment: host.environment,
    readFile: (path) => host.readFile(path),
    listFolder: (path) => host.listFolder(path),
    readLink: (path) => host.readLink(path),
    run(program, args, signal) {
      const key = [program, ...args].join('\0');
      let running = runs.get(key);
      if (running === undefined) {
        running = host.run(program, args, signal);
        runs.set(key, running);
      }
      return running;
    },
  };
}
