import { ENGINES } from '../../../engines/catalogue/engines.js';
import type { EngineTuning } from '../../../engines/descriptor/engine-launch.js';
import { heldByOthers, isItsOwn } from '../logs/general/gpu-memory.js';
import type { Repair } from './repair.js';

/** What other processes hold. */
interface Held {
  readonly gib: number;
  readonly totalGib: number;
}

const MEMORIES = ENGINES.flatMap(({ displayName, launch }) =>
  launch === undefined ? [] : [{ displayName, ...launch.tuning.memory }],
);

/** How the part of the GPU is named: by the engine that was seen, else by each. */
export function partOfGpu(tuning: EngineTuning | undefined): string {
  return tuning?.memory.words ?? MEMORIES.map(({ words }) => words).join(', ');
}

/** Who has the memory of the GPU decides what helps; `tuning` is of the engine that was seen. */
export function gpuMemoryRepair(sentence: string, tuning: EngineTuning | undefined): Repair {
  const others = heldByOthers(sentence);
  if (others !== undefined) return leaveToOthers(others, tuning);
  return isItsOwn(sentence) ? takeLess(partOfGpu(tuning)) : findHolder(partOfGpu(tuning));
}

function leaveToOthers({ gib, totalGib }: Held, tuning: EngineTuning | undefined): Repair {
  const rest = Math.max(0, Math.floor((1 - gib / totalGib) * 100 - 2) / 100).toFixed(2);
  const less =
    tuning === undefined
      ? `give the engine less (${MEMORIES.map((of) => `${of.displayName}: ${of.partOf === 'all' ? `${of.words} ${rest}` : `less ${of.words}`}`).join(', ')})`
      : tuning.memory.partOf === 'all'
        ? `give the engine no more than the rest of it: ${tuning.memory.words} ${rest}`
        : `give the engine a smaller part of what they leave (${tuning.memory.words})`;
  return {
    says: `Move the other processes off this GPU: they hold ${gib.toFixed(1)} of its ${totalGib.toFixed(1)} GiB (nvidia-smi, npu-smi info); or ${less}`,
    why: `${tuning === undefined ? '' : PARTS[tuning.memory.partOf]}An engine of an earlier start that has not ended, a trainer and a second engine count alike; in a container they are not seen, and hold it all the same.`,
    commands: ['nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # on the node: who has it'],
  };
}

/** What the engine's setting is a part of. */
const PARTS: Readonly<Record<EngineTuning['memory']['partOf'], string>> = {
  all: 'The part is of the whole GPU. ',
  free_at_start: 'The part is of what was free as the engine started: what others take later is missing. ',
  free_after_weights:
    'The part is of what was free once the weights were loaded: what others take later is missing. ',
};

function takeLess(part: string): Repair {
  return {
    says: `Give the engine 0.05 less of the GPU for weights and cache (${part}), and fewer sequences and tokens in a batch; where it ended before its cache was made, divide the model over more GPUs or run weights of fewer bits`,
    why: 'Nothing else is on the GPU. What comes on top of the weights and the cache (activations of the largest batch, CUDA graphs, logits) has the part that the cache leaves.',
    commands: [
      'kubectl logs POD --previous | grep -iE "KV cache (memory|size)|#tokens"    # no line: it ended before its cache was made',
    ],
  };
}

function findHolder(part: string): Repair {
  return {
    says: `Give the cache a smaller part of the GPU (${part}), or the engine fewer sequences and tokens in a batch, or more GPUs; kubectl exec POD -- nvidia-smi shows whether another process has it`,
    why: 'Weights, activations, CUDA graphs and the cache share the GPU. The cache takes its part before the largest batch has come; another process on the same GPU counts too.',
    commands: ['nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # who has it'],
  };
}
