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

/** The table that `nvidia-smi` alone prints: a line with index and name, and below it one with `1234MiB / 81559MiB`. */
function readTable(place: string, lines: readonly string[]): readonly GpuSighting[] {
  let named: { readonly index: number; readonly product: string | undefined } | undefined;
  return lines.flatMap((line) => {
    const name = /^\|\s{1,4}(\d{1,4})\s{2}(\S.{0,80}?)\s{2,}/.exec(line);
    if (name !== null) named = { index: Number(name[1]), product: name[2] };
    const [, used, total] = /(\d{1,9}MiB) \/\s{0,8}(\d{1,9}MiB)/.exec(line) ?? [];
    if (total === undefined || named === undefined) return [];
    const { index, product } = named;
    named = undefined;
    return sightingOf({
      index,
      product,
      totalBytes: bytesOf(total, BYTES_PER_MIB),
      usedBytes: bytesOf(used, BYTES_PER_MIB),
      origin: { place, text: excerptOf(line, '') },
    });
  });
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
  /** Lines of parts of a GPU, which have memory of their own: from the first to the second. */
  readonly parts?: readonly [from: RegExp, to: RegExp];
}

const FIELD_FORMS: readonly FieldForm[] = [
  // `nvidia-smi -q`, also with `-d MEMORY`. Slices of MIG are further in.
  {
    gpu: /^GPU [0-9A-F]{8}:/i,
    product: /^ {4}Product Name\s+: (.+)$/,
    memory: /^ {4}FB Memory Usage\s*$/,
    total: /^ {8}Total\s+: (.+)$/,
    used: /^ {8}Used\s+: (.+)$/,
  },
  // `nvidia-smi -q -x`.
  {
    gpu: /^\s*<gpu id=/,
    product: /<product_name>([^<]{1,80})</,
    memory: /<fb_memory_usage>/,
    total: /<total>([^<]{1,40})</,
    used: /<used>([^<]{1,40})</,
    parts: [/<mig_devices>/, /<\/mig_devices>/],
  },
  // `amd-smi metric`: "GPU: 0", "MEM_USAGE:", "TOTAL_VRAM: 196592 MB" (of 1,024 KiB each, as ROCm counts).
  {
    gpu: /^GPU: (\d{1,4})\s*$/,
    total: /^\s+TOTAL_VRAM: (.+)$/,
    used: /^\s+USED_VRAM: (.+)$/,
  },
];

function readFields(form: FieldForm): Reader {
  return (place, lines) => {
    const gpus: GpuSighting[] = [];
    let gpu: { index: number; product: string | undefined; total?: string | undefined } | undefined;
    let isInMemory = form.memory === undefined;
    let isInPart = false;
    let count = 0;
    for (const line of lines) {
      if (form.parts?.[0].test(line)) isInPart = true;
      if (form.parts?.[1].test(line)) isInPart = false;
      const head = form.gpu.exec(line);
      if (head !== null) {
        gpu = { index: head[1] === undefined ? count : Number(head[1]), product: undefined };
        count += 1;
      }
      if (gpu === undefined || isInPart) continue;
      gpu.product ??= form.product?.exec(line)?.[1]?.trim();
      if (form.memory?.test(line)) isInMemory = true;
      if (!isInMemory) continue;
      gpu.total ??= form.total.exec(line)?.[1];
      const used = form.used.exec(line)?.[1];
      if (used === undefined || gpu.total === undefined) continue;
      const { index, product, total } = gpu;
      const origin = { place, text: excerptOf(`${total.trim()}, ${used.trim()} used`, '') };
      const totalBytes = bytesOf(total, BYTES_PER_MIB);
      gpus.push(
        ...sightingOf({ index, product, totalBytes, usedBytes: bytesOf(used, BYTES_PER_MIB), origin }),
      );
      gpu = undefined;
      isInMemory = form.memory === undefined;
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
