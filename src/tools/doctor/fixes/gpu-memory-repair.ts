import { heldByOthers, isItsOwn } from '../logs/general/gpu-memory.js';
import type { Repair } from './repair.js';

/** What each engine calls its part of the GPU. */
const PARTS: Readonly<Record<string, string>> = {
  vllm: '--gpu-memory-utilization',
  sglang: '--mem-fraction-static',
  trtllm: 'free_gpu_memory_fraction in kv_cache_config',
};

/** Who has the memory of the GPU decides what helps; `engine` is the one that was seen. */
export function gpuMemoryRepair(sentence: string, engine: string | undefined): Repair {
  const part = PARTS[engine ?? ''] ?? Object.values(PARTS).join(', ');
  const others = heldByOthers(sentence);
  if (others !== undefined) return leaveToOthers(others, part);
  return isItsOwn(sentence) ? takeLess(part) : findHolder(part);
}

function leaveToOthers(
  { gib, totalGib }: { readonly gib: number; readonly totalGib: number },
  part: string,
): Repair {
  const rest = Math.max(0, Math.floor((1 - gib / totalGib) * 100 - 2) / 100).toFixed(2);
  return {
    says: `Move the other processes off this GPU: they hold ${gib.toFixed(1)} of its ${totalGib.toFixed(1)} GiB (nvidia-smi, npu-smi info); or give the engine no more than the rest of it: ${rest} as its part of the GPU (${part})`,
    why: 'The part is of the whole GPU. An engine of an earlier start that has not ended, a trainer and a second engine count alike; in a container they are not seen, and hold it all the same.',
    commands: ['nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # on the node: who has it'],
  };
}

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
