import { DYNAMO_RULES } from './rules/dynamo.js';
import { KV_ACCORD_RULES } from './rules/kv-accord.js';
import type { Rule } from './rules/rule.js';
import { SGLANG_RULES } from './rules/sglang.js';
import { TENSORRT_RULES } from './rules/trtllm.js';
import { VLLM_RULES } from './rules/vllm.js';

/** All kinds of lines that are known. A line can be of several. */
export const LOG_RULES: readonly Rule[] = [
  ...DYNAMO_RULES,
  ...VLLM_RULES,
  ...SGLANG_RULES,
  ...TENSORRT_RULES,
  ...KV_ACCORD_RULES,
];
