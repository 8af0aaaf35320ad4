import { countOf } from '../../../core/text/lists.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import { runProgram } from '../../../edge/platform/processes/run-program.js';
import type { EvidencePart, GpuSighting } from '../evidence.js';
import { excerptOf } from '../logs/masking.js';
import { metricsPart } from './metrics.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

/** The place that stands for `nvidia-smi` on this machine. */
const NVIDIA_SMI = 'nvidia-smi';

const QUERY = ['--query-gpu=index,name,memory.total,memory.used', '--format=csv'];

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_GPUS = 1_024;
const BYTES_PER_MIB = 1024 * 1024;
const MAX_NAME_CHARS = 80;

export interface GpuModules {
  readonly environment: Environment;
  readonly timeoutMs: number;
}

/**
 * The memory of GPUs, from `nvidia-smi` on this machine or a file with what it
 * printed: its table, its CSV (`--query-gpu=…`), or DCGM's metrics. Never rejects.
 */
export async function gatherGpus(place: string, modules: GpuModules): Promise<EvidencePart> {
  try {
    if (place !== NVIDIA_SMI) return gpuPart(place, await readText(place, MAX_BYTES));
    const { environment, timeoutMs } = modules;
    const { output, problem } = await runProgram(NVIDIA_SMI, QUERY, {
      environment,
      timeoutMs,
      maxOutputBytes: MAX_BYTES,
    });
    if (problem === undefined) return gpuPart([NVIDIA_SMI, ...QUERY].join(' '), output);
    return notRead('gpu', place, `${problem}; run it where the GPUs are, and give its output as a file`);
  } catch (error) {
    return notRead('gpu', place, error);
  }
}

/** What a text says of GPUs. */
function gpuPart(name: string, text: string): EvidencePart {
  if (/^DCGM_FI_/m.test(text)) {
    const part = metricsPart(name, text);
    return { ...part, source: { ...part.source, kind: 'gpu' } };
  }
  const gpus = [...readCsv(name, text), ...readTable(name, text)].slice(0, MAX_GPUS);
  if (gpus.length === 0)
    return notRead(
      'gpu',
      name,
      `has no GPU memory: give the output of ${NVIDIA_SMI} ${QUERY.join(' ')}, of ${NVIDIA_SMI} alone, or DCGM's metrics`,
    );
  return { source: outcome('gpu', name, 'read', countOf(gpus.length, 'GPU')), gpus };
}

/** `--query-gpu=… --format=csv`, with a head line that names the columns, or without one when they are ours. */
function readCsv(place: string, text: string): readonly GpuSighting[] {
  const lines = text.split(/\r?\n/);
  const headAt = lines.findIndex((line) => /\bmemory\.total\b/.test(line));
  const ours = ['index', 'name', 'memory.total [MiB]', 'memory.used [MiB]'];
  const head = headAt === -1 ? ours : cellsOf(lines[headAt] ?? '');
  const column = (name: string): number => head.findIndex((cell) => cell.split(' ')[0] === name);
  const [index, product, total, used] = ['index', 'name', 'memory.total', 'memory.used'].map(column);
  return lines.slice(headAt + 1).flatMap((line, order) => {
    const cells = cellsOf(line);
    if (cells.length !== head.length) return [];
    const totalBytes = bytesOf(cells[total ?? -1]);
    if (totalBytes === undefined) return [];
    const written = Number(cells[index ?? -1]);
    return [
      {
        who: '',
        index: Number.isSafeInteger(written) ? written : order,
        product: (cells[product ?? -1] ?? '').slice(0, MAX_NAME_CHARS),
        totalBytes,
        usedBytes: bytesOf(cells[used ?? -1]),
        origin: { place, text: excerptOf(line, '') },
      },
    ];
  });
}

/** The table that `nvidia-smi` alone prints: a line with index and name, and below it one with `1234MiB / 81559MiB`. */
function readTable(place: string, text: string): readonly GpuSighting[] {
  const gpus: GpuSighting[] = [];
  let named: { readonly index: number; readonly product: string } | undefined;
  for (const line of text.split(/\r?\n/)) {
    const name = /^\|\s{1,4}(\d{1,4})\s{2}(\S.{0,80}?)\s{2,}/.exec(line);
    if (name !== null) named = { index: Number(name[1]), product: name[2] ?? '' };
    const memory = /(\d{1,9})MiB \/\s{0,8}(\d{1,9})MiB/.exec(line);
    if (memory === null || named === undefined) continue;
    const [, used, total] = memory.map(Number);
    const origin = { place, text: excerptOf(line, '') };
    const usedBytes = (used ?? 0) * BYTES_PER_MIB;
    gpus.push({ who: '', ...named, totalBytes: (total ?? 0) * BYTES_PER_MIB, usedBytes, origin });
    named = undefined;
  }
  return gpus;
}

function cellsOf(line: string): readonly string[] {
  return line.split(',', 64).map((cell) => cell.trim());
}

function bytesOf(cell: string | undefined): number | undefined {
  const match = /^(\d{1,9})(?: MiB)?$/.exec(cell ?? '');
  return match === null || Number(match[1]) === 0 ? undefined : Number(match[1]) * BYTES_PER_MIB;
}
