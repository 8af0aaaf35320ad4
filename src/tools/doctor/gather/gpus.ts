import { countOf } from '../../../core/text/lists.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import { runProgram } from '../../../edge/platform/processes/run-program.js';
import type { EvidencePart } from '../evidence.js';
import { readGpuListing } from './gpu-listings.js';
import { metricsPart } from './metrics.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

/** The place that stands for `nvidia-smi` on this machine. */
const NVIDIA_SMI = 'nvidia-smi';

const QUERY = ['--query-gpu=index,name,memory.total,memory.used', '--format=csv'];

const MAX_BYTES = 4 * 1024 * 1024;

export interface GpuModules {
  readonly environment: Environment;
  readonly timeoutMs: number;
}

/**
 * The memory of GPUs, from `nvidia-smi` on this machine or a file: what one of its forms,
 * `rocm-smi` or `amd-smi` printed, or DCGM's metrics. Never rejects.
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
  const gpus = readGpuListing(name, text);
  if (gpus.length === 0)
    return notRead(
      'gpu',
      name,
      `has no GPU memory: give the output of ${NVIDIA_SMI} ${QUERY.join(' ')}, of ${NVIDIA_SMI} alone or with -q, of rocm-smi --showmeminfo vram, of amd-smi metric, or DCGM's metrics`,
    );
  return { source: outcome('gpu', name, 'read', countOf(gpus.length, 'GPU')), gpus };
}
