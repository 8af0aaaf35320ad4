import type { UncheckedProgram } from './unchecked-programs.js';

/** Flags that only engines have, as an item of a list: of several programs, none of which is named. */
export const ENGINE_FLAG: RegExp =
  /^--(?:block-size|page-size|kv-block-size|kv-events-config|kv-transfer-config|kv-cache-dtype|max-model-len|gpu-memory-utilization|mem-fraction-static|tensor-parallel-size|max-num-seqs|(?:no-)?enable-prefix-caching|prefix-caching-hash-algo|disable-radix-cache|enable-hierarchical-cache|extra-engine-args|extra_llm_api_options|tp-size)(?:[=\s]|$)/;

/** What is said of such arguments where nothing shows what gets them. */
export const ENGINE_ARGUMENTS: UncheckedProgram = {
  program: 'arguments of an engine',
  reason: 'the program that gets them is not in this file',
};
