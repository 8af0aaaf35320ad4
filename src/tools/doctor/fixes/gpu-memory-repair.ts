import { heldByOthers, isItsOwn } from '../logs/general/gpu-memory.js';
import type { Repair } from './repair.js';

/** What other processes hold. */
interface Held {
  readonly gib: number;
  readonly totalGib: number;
}

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
  if (others !== undefined) return leaveToOthers(others, engine);
  return isItsOwn(sentence) ? takeLess(part) : findHolder(part);
}

function leaveToOthers({ gib, totalGib }: Held, engine: string | undefined): Repair {
  const rest = Math.max(0, Math.floor((1 - gib / totalGib) * 100 - 2) / 100).toFixed(2);
  const less =
    engine === 'sglang' || engine === 'trtllm'
      ? `give the engine a smaller part of what they leave (${PARTS[engine]})`
      : engine === 'vllm'
        ? `give the engine no more than the rest of it: ${PARTS[engine]} ${rest}`
        : `give the engine no more than the rest of it (vLLM: ${PARTS['vllm']} ${rest}; less of ${PARTS['sglang']} or ${PARTS['trtllm']})`;
  return {
    says: `Move the other processes off this GPU: they hold ${gib.toFixed(1)} of its ${totalGib.toFixed(1)} GiB (nvidia-smi, npu-smi info); or ${less}`,
    why: `${shareText(engine)} An engine of an earlier start that has not ended, a trainer and a second engine count alike; in a container they are not seen, and hold it all the same.`,
    commands: ['nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # on the node: who has it'],
  };
}

/** Of what the part of each engine is. */
function shareText(engine: string | undefined): string {
  if (engine === 'vllm') return 'The part is of the whole GPU.';
  if (engine === 'sglang')
    return 'The part is of what was free as the engine started: what others take later is missing.';
  if (engine === 'trtllm')
    return 'The part is of what was free once the weights were loaded: what others take later is missing.';
  return 'The part of vLLM is of the whole GPU; those of SGLang and TensorRT-LLM are of what was free as they started.';
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
