import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import { VLLM_RULES } from './log-rules.js';
import { OFFLOAD_RULES } from './offload-rules.js';
import { VLLM_TRANSFER_RULES } from './transfer-rules.js';

/** What vLLM writes. */
export const VLLM_DIAGNOSIS: EngineDiagnosis = {
  logs: {
    rules: [...VLLM_RULES, ...VLLM_TRANSFER_RULES, ...OFFLOAD_RULES],
    // By its processes also what is no record of its logger, such as a traceback.
    lineStart:
      /^(?:\((?:EngineCore|APIServer|ApiServer|VllmWorker|Worker_)[\w ]{0,40}(?:pid|rank)=\d|(?:\([^()]{1,80}\) )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +\d\d-\d\d \d\d:\d\d:\d\d)/,
    isOwnRecord: ({ name, logger }) => String(name ?? logger ?? '').startsWith('vllm'),
  },
};
