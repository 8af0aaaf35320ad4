import { DEFAULT_JSON_BOUNDS, parseJson } from '../../../edge/platform/data/bounded-json.js';
import type { Host } from '../../../edge/platform/processes/host.js';
import { Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { commandFailure } from '../command-failure.js';
import { plainText } from '../limits.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';
import { parseAmdSmi } from './amd-smi-json.js';
import { parseRocmSmi } from './rocm-smi-json.js';

/** The programs print some KiB for each GPU, and a link for each pair. */
const JSON_BOUNDS = { ...DEFAULT_JSON_BOUNDS, maxBytes: 4 * 1024 * 1024 };

/** What `rocm-smi` is asked for; all of it exists since ROCm 5. */
const ROCM_SMI_DEVICES = [
  '--showproductname',
  '--showbus',
  '--showuniqueid',
  '--showmeminfo',
  'vram',
  '--showtoponuma',
  '--showdriverversion',
  '--json',
] as const;

/**
 * AMD GPUs, their links, NUMA nodes and driver from `amd-smi`, or from
 * `rocm-smi` where only that is installed.
 */
export const amdSmiReader: TopologyReader = {
  name: 'amd-smi',
  async read(host: Host, signal: AbortSignal): Promise<TopologyPart> {
    const devices = await jsonOf(host, 'amd-smi', ['static', '--json'], signal);
    if (devices !== undefined) {
      if (devices.failure !== undefined) return { topology: Topology.create(), absent: devices.failure };
      const links = await jsonOf(host, 'amd-smi', ['topology', '--json'], signal);
      const list = await jsonOf(host, 'amd-smi', ['list', '--json'], signal);
      return withFailures(parseAmdSmi(devices.json, links?.json, list?.json), [
        links?.failure,
        list?.failure,
      ]);
    }
    const cards = await jsonOf(host, 'rocm-smi', ROCM_SMI_DEVICES, signal);
    if (cards === undefined)
      return { topology: Topology.create(), absent: 'amd-smi and rocm-smi not on PATH' };
    if (cards.failure !== undefined) return { topology: Topology.create(), absent: cards.failure };
    const links = await jsonOf(host, 'rocm-smi', ['--showtopotype', '--json'], signal);
    return withFailures(parseRocmSmi(cards.json, links?.json), [links?.failure]);
  },
};

function withFailures(topology: Topology, failures: readonly (string | undefined)[]): TopologyPart {
  topology.notes.push(...failures.filter((failure) => failure !== undefined));
  return { topology };
}

/** A program's answer, or the reason why there is none; undefined when it is not on PATH. */
async function jsonOf(
  host: Host,
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ json?: unknown; failure?: string } | undefined> {
  const command = [program, ...args].join(' ');
  const output = await host.run(program, args, signal);
  if (output === undefined) return undefined;
  const failure = commandFailure(command, output);
  if (failure !== undefined) return { failure };
  // Warnings may stand before the JSON, "WARNING: No JSON data to report" in its place.
  const start = output.stdout.search(/^[[{]/m);
  if (start < 0)
    return { failure: `${command} printed no JSON: ${plainText(output.stdout) || 'it printed nothing'}` };
  try {
    return { json: parseJson(output.stdout.slice(start), JSON_BOUNDS) };
  } catch (error) {
    throw new TopologyError(`${command} printed JSON that cannot be read: ${plainText(String(error))}`);
  }
}
