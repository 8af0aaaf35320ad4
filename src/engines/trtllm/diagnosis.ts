import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import { TENSORRT_RULES } from './log-rules.js';

/** What TensorRT-LLM writes. */
export const TRTLLM_DIAGNOSIS: EngineDiagnosis = {
  logs: {
    rules: TENSORRT_RULES,
    lineStart: /^\[TensorRT-LLM\]|^\[\d\d\/\d\d\/\d{4}-[\d:]+\] \[(?:TRT-LLM|TensorRT-LLM)|^\[TRT-LLM\]/,
  },
};
