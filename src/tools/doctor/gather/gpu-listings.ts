import type { GpuSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';

/** Most GPUs of one text: more than any server has. */
const MAX_GPUS = 1_024;
const BYTES_PER_MIB = 1024 * 1024;
const MAX_NAME_CHARS = 80;

/** Reads one form; no GPU where a text is of another. */
type Reader = (place: string, lines: readonly string[]) => readonly GpuSighting[];

/**
 * The GPUs in a text that a program of a vendor printed: `nvidia-smi` alone, with `-q`, `-q -x` or
 * `--query-gpu=… --format=csv`, `rocm-smi --showmeminfo vram` (also with `--csv`), or `amd-smi metric`. Empty for any other.
 */
export function readGpuListing(place: string, text: string): readonly GpuSighting[] {
  const lines = text.split(/\r?\n/);
  return READERS.flatMap((read) => read(place, lines)).slice(0, MAX_GPUS);
}

/** `--query-gpu=… --format=csv`, with a head line that names the columns, or without one when they are ours; `rocm-smi --csv`. */
function readCsv(place: string, lines: readonly string[]): readonly GpuSighting[] {
  const headAt = lines.findIndex((line) => /\bmemory\.total\b|,VRAM Total Memory \(B\)/.test(line));
  const ours = ['index', 'name', 'memory.total [MiB]', 'memory.used [MiB]'];
  const head = headAt === -1 ? ours : cellsOf(lines[headAt] ?? '');
  const column = (...names: readonly string[]): number =>
    head.findIndex((cell) => names.includes(cell.replace(/ \[.*$/, '')));
  const index = column('index', 'device');
  const product = column('name', 'gpu_name', 'Card Series');
  const total = column('memory.total', 'VRAM Total Memory (B)');
  const used = column('memory.used', 'VRAM Total Used Memory (B)');
  const unit = head[total]?.endsWith('(B)') ? 1 : BYTES_PER_MIB;
  return lines.slice(headAt + 1).flatMap((line, order) => {
    const cells = cellsOf(line);
    if (cells.length !== head.length) return [];
    const written = /^(?:card)?(\d{1,4})$/.exec(cells[index] ?? '')?.[1];
    return sightingOf({
      index: written === undefined ? order : Number(written),
      product: cells[product],
      totalBytes: bytesOf(cells[total], unit),
      usedBytes: bytesOf(cells[used], unit),
      origin: { place, text: excerptOf(line, '') },
    });
  });
}

/**
 * The table that `nvidia-smi` alone prints: a line with index and name, and below it one with `1234MiB / 81559MiB`. Of a card
 * that is cut into slices of MIG a worker has a slice, which stands in a table of its own: `|  0    1   0   0  |  12MiB / 40192MiB`.
 */
function readTable(place: string, lines: readonly string[]): readonly GpuSighting[] {
  let named: { readonly index: number; readonly product: string | undefined } | undefined;
  const cards: GpuSighting[] = [];
  const slices: GpuSighting[] = [];
  const cut = new Set<number>();
  for (const line of lines) {
    const name = /^\|\s{1,4}(\d{1,4})\s{2}(\D.{0,80}?)\s{2,}/.exec(line);
    if (name !== null) named = { index: Number(name[1]), product: name[2] };
    if (/\|\s+Enabled\s+\|\s*$/.test(line)) cut.add(cards.at(-1)?.index ?? -1);
    const slice = /^\|\s{1,4}(\d{1,4})(?:\s{1,6}\d{1,4}){3}\s+\|/.exec(line);
    const [, used, total] = /(\d{1,9}MiB) \/\s{0,8}(\d{1,9}MiB)/.exec(line) ?? [];
    if (total === undefined || (named === undefined && slice === null)) continue;
    const index = Number(slice?.[1] ?? named?.index);
    const product = slice === null ? named?.product : cards.find((card) => card.index === index)?.product;
    if (slice !== null) cut.add(index);
    named = undefined;
    (slice === null ? cards : slices).push(
      ...sightingOf({
        index,
        product: slice === null ? product : sliceName(product),
        totalBytes: bytesOf(total, BYTES_PER_MIB),
        usedBytes: bytesOf(used, BYTES_PER_MIB),
        origin: { place, text: excerptOf(line, '') },
      }),
    );
  }
  return [...cards.filter(({ index }) => !cut.has(index)), ...slices];
}

function sliceName(product: string | undefined): string {
  return `${product === undefined || product === '' ? '' : `${product}, `}slice of MIG`;
}

/** The lines of a form that has one field on a line, and several lines for each GPU. */
interface FieldForm {
  /** The first line of a GPU; its number, where it has one, is the first group. */
  readonly gpu: RegExp;
  /** Like total and used, with the value as its first group. */
  readonly product?: RegExp;
  /** The line above total and used; absent where their own names distinguish them. */
  readonly memory?: RegExp;
  readonly total: RegExp;
  readonly used: RegExp;
  /** Of slices of MIG, which a worker has in place of the card; absent where the form has none. */
  readonly mig?: {
    /** This line and the one before it, with a line break between, say that the card is cut. */
    readonly isOn: RegExp;
    /** The first line of a slice, and the line above its total and used. */
    readonly slice: RegExp;
    readonly memory: RegExp;
    readonly total: RegExp;
    readonly used: RegExp;
  };
}

const FIELD_FORMS: readonly FieldForm[] = [
  // `nvidia-smi -q`, also with `-d MEMORY`.
  {
    gpu: /^GPU [0-9A-F]{8}:/i,
    product: /^ {4}Product Name\s+: (.+)$/,
    memory: /^ {4}FB Memory Usage\s*$/,
    total: /^ {8}Total\s+: (.+)$/,
    used: /^ {8}Used\s+: (.+)$/,
    mig: {
      isOn: /^ {4}MIG Mode\s*\n {8}Current\s+: Enabled/,
      slice: /^ {4}MIG Device\s*$/,
      memory: /^ {8}FB Memory Usage\s*$/,
      total: /^ {12}Total\s+: (.+)$/,
      used: /^ {12}Used\s+: (.+)$/,
    },
  },
  // `nvidia-smi -q -x`.
  {
    gpu: /^\s*<gpu id=/,
    product: /<product_name>([^<]{1,80})</,
    memory: /<fb_memory_usage>/,
    total: /<total>([^<]{1,40})</,
    used: /<used>([^<]{1,40})</,
    mig: {
      isOn: /<current_mig>Enabled</,
      slice: /<mig_device>/,
      memory: /<fb_memory_usage>/,
      total: /<total>([^<]{1,40})</,
      used: /<used>([^<]{1,40})</,
    },
  },
  // `amd-smi metric`: "GPU: 0", "MEM_USAGE:", "TOTAL_VRAM: 196592 MB" (of 1,024 KiB each, as ROCm counts).
  {
    gpu: /^GPU: (\d{1,4})\s*$/,
    total: /^\s+TOTAL_VRAM: (.+)$/,
    used: /^\s+USED_VRAM: (.+)$/,
  },
];

/** What was read of a GPU, or of a slice of it, so far. */
interface Partly {
  readonly index: number;
  product: string | undefined;
  total?: string | undefined;
  isInMemory: boolean;
}

function readFields(form: FieldForm): Reader {
  return (place, lines) => {
    const gpus: GpuSighting[] = [];
    let gpu: Partly | undefined;
    let slice: Partly | undefined;
    let isCut = false;
    let count = 0;
    const add = ({ index, product, total = '' }: Partly, used: string): void => {
      const origin = { place, text: excerptOf(`${total.trim()}, ${used.trim()} used`, '') };
      const totalBytes = bytesOf(total, BYTES_PER_MIB);
      const usedBytes = bytesOf(used, BYTES_PER_MIB);
      gpus.push(...sightingOf({ index, product, totalBytes, usedBytes, origin }));
    };
    for (const [at, line] of lines.entries()) {
      const head = form.gpu.exec(line);
      if (head !== null) {
        const index = head[1] === undefined ? count : Number(head[1]);
        gpu = { index, product: undefined, isInMemory: form.memory === undefined };
        [slice, isCut] = [undefined, false];
        count += 1;
      }
      if (gpu === undefined) continue;
      if (form.mig?.isOn.test(`${lines[at - 1]}\n${line}`)) isCut = true;
      if (form.mig?.slice.test(line)) slice = { ...gpu, product: sliceName(gpu.product), isInMemory: false };
      gpu.product ??= form.product?.exec(line)?.[1]?.trim();
      const one = slice ?? gpu;
      const shape = slice === undefined ? form : (form.mig ?? form);
      if (shape.memory?.test(line)) one.isInMemory = true;
      if (!one.isInMemory) continue;
      one.total ??= shape.total.exec(line)?.[1];
      const used = shape.used.exec(line)?.[1];
      if (used === undefined || one.total === undefined) continue;
      if (slice !== undefined || !isCut) add(one, used);
      if (slice === undefined) gpu = undefined;
      else slice = undefined;
    }
    return gpus;
  };
}

/** `rocm-smi --showmeminfo vram`: "GPU[0] : VRAM Total Memory (B): 68702699520", then the same with "Total Used". */
function readRocm(place: string, lines: readonly string[]): readonly GpuSighting[] {
  const used = new Map<string, string>();
  const totals: { readonly index: string; readonly total: string; readonly line: string }[] = [];
  for (const line of lines) {
    const [, index, isUsed, value] =
      /^GPU\[(\d{1,4})\]\s*: VRAM Total (Used )?Memory \(B\): (\d{1,15})/.exec(line) ?? [];
    if (index === undefined || value === undefined) continue;
    if (isUsed === undefined) totals.push({ index, total: value, line });
    else used.set(index, value);
  }
  return totals.flatMap(({ index, total, line }) =>
    sightingOf({
      index: Number(index),
      product: undefined,
      totalBytes: bytesOf(total, 1),
      usedBytes: bytesOf(used.get(index), 1),
      origin: { place, text: excerptOf(line, '') },
    }),
  );
}

const READERS: readonly Reader[] = [readCsv, readTable, ...FIELD_FORMS.map(readFields), readRocm];

/** A GPU whose memory is known; one of none, and one that does not report it, is left out. */
function sightingOf(
  one: Pick<GpuSighting, 'index' | 'usedBytes' | 'origin'> & {
    readonly product: string | undefined;
    readonly totalBytes: number | undefined;
  },
): readonly GpuSighting[] {
  const { product, totalBytes, ...rest } = one;
  if (totalBytes === undefined || totalBytes === 0) return [];
  return [{ who: '', ...rest, product: (product ?? '').slice(0, MAX_NAME_CHARS), totalBytes }];
}

function cellsOf(line: string): readonly string[] {
  return line.split(',', 64).map((cell) => cell.trim());
}

/** `81559 MiB`, `196592 MB` or a bare number of the unit; undefined for `[N/A]` and the like. */
function bytesOf(value: string | undefined, unitBytes: number): number | undefined {
  const match = /^(\d{1,15})(?: ?Mi?B)?$/.exec(value?.trim() ?? '');
  return match === null ? undefined : Number(match[1]) * unitBytes;
}
