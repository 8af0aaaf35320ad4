import type { Host } from '../../../edge/platform/processes/host.js';
import { Gpu, GpuLink, LinkKind, Nic, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { commandFailure } from '../command-failure.js';
import { kernelListOf, numaNodeOf } from '../cpu-list.js';
import { MAX_GPUS, MAX_NICS, plainText } from '../limits.js';
import type { TopologyPart, TopologyReader } from '../reader.js';
import { TopologyError } from '../reader.js';
import type { ListedGpu } from './nvidia-smi-list.js';
import { parseNvidiaSmiList } from './nvidia-smi-list.js';

const COMMAND = 'nvidia-smi topo -m';

/** What the legend of the matrix calls each kind, closest first. */
const KINDS: ReadonlyMap<string, LinkKind> = new Map([
  ['PIX', LinkKind.PIX],
  ['PXB', LinkKind.PXB],
  ['PHB', LinkKind.PHB],
  ['NODE', LinkKind.NODE],
  ['SYS', LinkKind.SYS],
  // What drivers before 390 called SYS.
  ['SOC', LinkKind.SYS],
]);

/** The header underlines itself on terminals, and with some drivers always. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const ANSI = /\u001b\[[0-9;]*m/g;
const AFFINITY_COLUMNS = ['CPU Affinity', 'NUMA Affinity', 'GPU NUMA ID'] as const;
type AffinityColumn = (typeof AFFINITY_COLUMNS)[number];
/** `GPU NUMA ID` first, so that it is not taken for a column `GPU`. */
const HEADER_CELL = /GPU NUMA ID|CPU Affinity|NUMA Affinity|\S+/g;
const DEVICE = /^(?:(GPU)(\d{1,4})|NIC\d{1,4}|[a-z]\w*_\d{1,4})$/;

interface Matrix {
  /** Link columns, in order; a column that cannot be understood is undefined. */
  readonly columns: readonly (string | undefined)[];
  readonly affinityColumns: readonly AffinityColumn[];
  readonly rows: readonly string[];
  /** `NIC0` to `mlx5_0`; older drivers write `mlx5_0` into the matrix itself. */
  readonly nicNames: ReadonlyMap<string, string>;
}

/**
 * Reads the output of `nvidia-smi topo -m`. The matrix numbers GPUs as
 * `nvidia-smi -L` does in the same container; `listed` gives their UUIDs. A
 * row whose cells do not line up with the header is left out whole, with a
 * note: a shifted row would be silently wrong. Links among NICs are left out,
 * they touch no GPU.
 * @internal
 */
export function parseNvidiaSmiTopo(text: string, listed: readonly ListedGpu[]): Topology {
  const matrix = matrixOf(text);
  const uuids = new Map(listed.map((gpu) => [`GPU${gpu.index}`, gpu.uuid]));
  const gpus: Gpu[] = [];
  const links = new Map<string, GpuLink>();
  const nics = new Map<string, Nic>();
  const notes = new Set<string>();

  const nameOf = (device: string): string | undefined => {
    if (device.startsWith('GPU')) {
      if (!uuids.has(device)) notes.add(`${COMMAND}: ${device} is not in nvidia-smi -L and is left out`);
      return uuids.get(device);
    }
    return matrix.nicNames.get(device) ?? device;
  };

  for (const line of matrix.rows) {
    const [device = '', ...fields] = fieldsOf(line);
    const cells = fields.slice(0, matrix.columns.length);
    if (!linesUp(matrix, device, fields)) {
      notes.add(`${COMMAND}: the row of ${device} does not line up with the header and is left out`);
      continue;
    }
    const a = nameOf(device);
    if (a === undefined) continue;
    if (device.startsWith('GPU'))
      gpus.push(Gpu.create({ uuid: a, ...affinityOf(matrix, fields.slice(matrix.columns.length), line) }));
    for (const [at, cell] of cells.entries()) {
      const column = matrix.columns[at];
      if (column === undefined || column === device || cell === 'X') continue;
      if (!column.startsWith('GPU') && !device.startsWith('GPU')) continue;
      const kind = kindOf(cell);
      if (kind === undefined) {
        notes.add(`${COMMAND}: unknown link ${plainText(cell, 32)} is left out`);
        continue;
      }
      const b = nameOf(column);
      if (b === undefined) continue;
      for (const one of [device, column]) {
        const name = nameOf(one);
        if (!one.startsWith('GPU') && name !== undefined) nics.set(name, Nic.create({ name }));
      }
      const [first, second] = ends(device, column, a, b);
      links.set(`${first} ${second}`, GpuLink.create({ a: first, b: second, ...kind }));
    }
  }
  return Topology.create({ gpus, links: [...links.values()], nics: [...nics.values()], notes: [...notes] });
}

function matrixOf(text: string): Matrix {
  const lines = text
    .replace(ANSI, '')
    .split('\n')
    .map((line) => line.trimEnd());
  const at = lines.findIndex((line) => /^\s+\S/.test(line) && /\bGPU\d/.test(line));
  if (at < 0)
    throw new TopologyError(
      `${COMMAND} printed no matrix, but ${JSON.stringify(plainText(text.slice(0, 120)))}`,
    );
  const header = [...(lines[at] ?? '').matchAll(HEADER_CELL)].map((match) => match[0]);
  const isAffinity = (cell: string): cell is AffinityColumn =>
    (AFFINITY_COLUMNS as readonly string[]).includes(cell);
  const columns = header.filter((cell) => !isAffinity(cell));
  if (columns.length > MAX_GPUS + MAX_NICS)
    throw new TopologyError(
      `${COMMAND} has ${columns.length} columns; at most ${MAX_GPUS + MAX_NICS} are read`,
    );
  const nicNames = new Map<string, string>();
  const rows: string[] = [];
  for (const line of lines.slice(at + 1)) {
    const legend = /^\s+(NIC\d{1,4}): (\S{1,64})$/.exec(line);
    if (legend?.[1] !== undefined && legend[2] !== undefined) nicNames.set(legend[1], legend[2]);
    else if (DEVICE.test(fieldsOf(line)[0] ?? '') && !line.startsWith(' ')) rows.push(line);
  }
  return {
    columns: columns.map((cell) => (DEVICE.test(cell) ? cell : undefined)),
    affinityColumns: header.filter(isAffinity),
    rows: rows.slice(0, MAX_GPUS + MAX_NICS),
    nicNames,
  };
}

/** Cells never hold spaces inside, so that tabs and copies with spaces read alike. */
function fieldsOf(line: string): string[] {
  return line.trim().split(/\s+/);
}

/** Whether a row has exactly one link for each column, and the `X` where it meets itself. */
function linesUp(matrix: Matrix, device: string, fields: readonly string[]): boolean {
  const end = fields.findIndex((field) => !/^[A-Z]/.test(field) || field === 'N/A');
  const linkCount = end < 0 ? fields.length : end;
  return linkCount === matrix.columns.length && fields[matrix.columns.indexOf(device)] === 'X';
}

/**
 * The values behind the links. With tabs there is an empty field before the
 * last one, so they are distinguished by position from both ends; with spaces only
 * by their number.
 */
function affinityOf(
  matrix: Matrix,
  values: readonly string[],
  line: string,
): { cpuAffinity?: string; numaNode?: number } {
  let named = values;
  if (line.includes('\t')) {
    const fields = line.split('\t').map((field) => field.trim());
    named = fields.slice(1 + matrix.columns.length);
  } else if (values.length !== matrix.affinityColumns.length) return {};
  const at = (column: AffinityColumn): string => {
    const position = matrix.affinityColumns.indexOf(column);
    return position < 0 ? '' : (named[position] ?? '');
  };
  const cpuAffinity = kernelListOf(at('CPU Affinity'));
  // "GPU NUMA ID" is the node of the GPU's own memory, which has no CPUs: it is not what is asked for.
  const numaNode = numaNodeOf(at('NUMA Affinity'));
  return {
    ...(cpuAffinity === undefined ? {} : { cpuAffinity }),
    ...(numaNode === undefined ? {} : { numaNode }),
  };
}

function kindOf(cell: string): { kind: LinkKind; laneCount?: number } | undefined {
  const bonded = /^NV(\d{1,3})$/.exec(cell);
  if (bonded?.[1] !== undefined) return { kind: LinkKind.NVLINK, laneCount: Number(bonded[1]) };
  const kind = KINDS.get(cell);
  return kind === undefined ? undefined : { kind };
}

/** One direction for each pair: GPUs before NICs, and the lower number first. */
function ends(deviceA: string, deviceB: string, a: string, b: string): readonly [string, string] {
  const order = (device: string): number =>
    device.startsWith('GPU') ? Number(device.slice(3)) : Number.MAX_SAFE_INTEGER;
  return order(deviceA) <= order(deviceB) ? [a, b] : [b, a];
}

/** Links among GPUs and to NICs, CPU and NUMA affinity from `nvidia-smi topo -m`. */
export const nvidiaSmiTopoReader: TopologyReader = {
  name: 'nvidia-smi-topo',
  async read(host: Host, signal: AbortSignal): Promise<TopologyPart> {
    const output = await host.run('nvidia-smi', ['topo', '-m'], signal);
    if (output === undefined) return { topology: Topology.create() };
    const failure = commandFailure(COMMAND, output);
    if (failure !== undefined) return { topology: Topology.create({ notes: [failure] }) };
    const list = await host.run('nvidia-smi', ['-L'], signal);
    const listed = list?.exitCode === 0 ? parseNvidiaSmiList(list.stdout) : [];
    return { topology: parseNvidiaSmiTopo(output.stdout, listed) };
  },
};
