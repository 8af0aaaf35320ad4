import type { Topology } from '../../gen/kvaccord/v1/capabilities.js';
import type { Clock } from '../../platform/clock.js';
import type { CommandOutput, Host } from '../../platform/host.js';
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
    const end = (why: string): void => {
      over.abort();
      resolve(why);
    };
    const timer = clock.setTimer(timeoutMs, () => end(`did not end within ${timeoutMs} ms`));
    const onAbort = (): void => end('was stopped');
    over.signal.addEventListener('abort', () => {
      timer.clear();
      signal.removeEventListener('abort', onAbort);
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
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
        failures.push(`${reader.name}: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
    }),
  );
  over.abort();
  return finished(
    parts.filter((part) => part !== undefined),
    failures,
    options,
  );
}

function finished(
  parts: readonly NamedPart[],
  failures: readonly string[],
  options: ReadTopologyOptions,
): Topology {
  const merged = mergeTopology(parts);
  const topology = options.onlyVisible === false ? merged : visibleGpus(merged, options.host.environment);
  const facts = merged.gpus.length === 0 ? absences(parts) : wholeHostNotes(parts);
  const notes = [...facts, ...failures, ...topology.notes].map((note) => plainText(note, MAX_NOTE_CHARS));
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
