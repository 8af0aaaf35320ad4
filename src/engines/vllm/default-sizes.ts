import type { DefaultSize } from '../descriptor/default-size.js';

const PROGRAM = 'vllm';

/**
 * What vLLM takes without `--block-size`. Since it depends on the attention kernel, which it chooses by model and device, it
 * is known only where it runs. A hybrid model (Mamba, linear attention) raises it to whatever its states need.
 */
export const VLLM_DEFAULT_SIZES: readonly DefaultSize[] = [
  {
    program: PROGRAM,
    tokensPerBlock: 16,
    where: 'on a GPU whose attention kernel takes that',
    source: 'vLLM 0.32.0, DEFAULT_BLOCK_SIZE of config/cache.py',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 64,
    where: 'with FlashMLA, and with the indexer of DeepSeek sparse attention',
    source: 'vLLM 0.32.0, v1/attention/backends/mla (get_supported_kernel_block_sizes)',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 128,
    where: 'with CUTLASS MLA',
    source: 'vLLM 0.32.0, v1/attention/backends/mla/cutlass_mla.py',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 256,
    where: 'for DeepSeek-V4',
    source: 'vLLM 0.32.0, v1/attention/backends/mla/sparse_swa.py and platforms/cpu.py',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 128,
    where: 'on a CPU (16 for MLA without AMX, and in 2025 without the extension of Intel for PyTorch)',
    source: 'vLLM 0.32.0, platforms/cpu.py; vllm-project/vllm#16002 of April 2025',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 128,
    where: 'on Intel Gaudi',
    source: 'help of --block-size in vLLM 0.7, quoted in vllm-project/vllm#14319',
  },
];
