import type { GpuSighting } from '../evidence.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { bytesText, shareText } from './figures.js';

/** A part of a GPU's memory. */
export interface MemorySlice {
  readonly name: string;
  /** Bytes. */
  readonly value: number;
  readonly shown: string;
  /** `rest`: weights and all else; `running`: blocks of running sequences; `free`: blocks for prefixes. */
  readonly kind: 'rest' | 'running' | 'free';
}

/** The parts of a GPU's memory, as far as they are known. */
export function slicesOf(memory: MemoryArithmetic, gpus: readonly GpuSighting[]): readonly MemorySlice[] {
  const { budgetBytes, capacityTokens, demandTokens } = memory;
  if (budgetBytes === undefined || budgetBytes <= 0) return [];
  const total = totalBytesOf(memory, gpus);
  const rest = total === undefined ? 0 : Math.max(0, total - budgetBytes);
  const slices: MemorySlice[] = [];
  if (rest > 0)
    slices.push({
      name: 'weights and everything else',
      value: rest,
      shown: bytesText(rest),
      kind: 'rest',
    });
  if (capacityTokens === undefined || capacityTokens <= 0 || demandTokens === undefined) {
    slices.push({ name: 'KV blocks', value: budgetBytes, shown: bytesText(budgetBytes), kind: 'free' });
    return slices;
  }
  const share = Math.max(0, demandTokens / capacityTokens);
  const running = budgetBytes * Math.min(1, share);
  slices.push({
    name: `KV blocks of running sequences (${shareText(share)} of all)`,
    value: running,
    shown: bytesText(running),
    kind: 'running',
  });
  const free = budgetBytes - running;
  slices.push({
    name: 'KV blocks left for prefixes',
    value: free,
    shown: bytesText(free),
    kind: 'free',
  });
  return slices;
}

/** Only where all GPUs that can be meant have the same. */
function totalBytesOf({ who }: MemoryArithmetic, gpus: readonly GpuSighting[]): number | undefined {
  const own = gpus.filter((gpu) => gpu.who === who);
  const sizes = new Set((own.length > 0 ? own : gpus).map(({ totalBytes }) => totalBytes));
  return sizes.size === 1 ? [...sizes][0] : undefined;
}
