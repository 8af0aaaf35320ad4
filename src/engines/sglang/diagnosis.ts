import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import { SGLANG_RULES } from './log-rules.js';
import { SGLANG_TRANSFER_RULES } from './transfer-rules.js';

/** What SGLang writes. */
export const SGLANG_DIAGNOSIS: EngineDiagnosis = {
  logs: {
    rules: [...SGLANG_RULES, ...SGLANG_TRANSFER_RULES],
    lineStart:
      /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [A-Z]+\d+)*\] |^(?:Prefill|Decode) batch[.,] #/,
    isOwnRecord: ({ name, logger }) => String(name ?? logger ?? '').startsWith('sglang'),
  },
};
