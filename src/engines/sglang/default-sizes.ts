import type { DefaultSize } from '../descriptor/default-size.js';

const PROGRAM = 'sglang';

/**
 * What SGLang takes without `--page-size`, a flag that 0.4.1 did not have yet. Some attention kernels replace even a number
 * that was given.
 */
export const SGLANG_DEFAULT_SIZES: readonly DefaultSize[] = [
  {
    program: PROGRAM,
    tokensPerBlock: 1,
    where: 'where no attention kernel asks for another',
    source: 'SGLang 0.4.6, 0.5.6, 0.5.10 (srt/server_args.py) and 0.5.23 (srt/arg_groups/overrides.py)',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 64,
    where:
      'with FlashMLA, with DeepSeek sparse attention, and with the kernels of TensorRT-LLM unless it is 16 to 128',
    source: 'SGLang 0.4.6 (FlashMLA), 0.5.6, 0.5.10 and 0.5.23',
  },
  {
    program: PROGRAM,
    tokensPerBlock: 128,
    where: 'with FlashAttention 4, on Ascend and on an Intel GPU',
    source: 'SGLang 0.5.6, 0.5.10 and 0.5.23',
  },
];
