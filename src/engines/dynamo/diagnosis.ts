import type { EngineDiagnosis } from '../diagnosis/engine-diagnosis.js';
import { DYNAMO_RULES } from './log-rules.js';
import { TRANSPORT_RULES } from './transport-rules.js';

/** What Dynamo writes: its frontends, routers, indexers and workers. */
export const DYNAMO_DIAGNOSIS: EngineDiagnosis = {
  logs: {
    rules: [...DYNAMO_RULES, ...TRANSPORT_RULES],
    // Also with the time left out by the person who copied it.
    lineStart:
      /^(?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) +(?:TRACE|DEBUG|INFO|WARN|ERROR) [\w:.<>-]+|(?:TRACE|DEBUG|INFO|WARN|ERROR) +dynamo_\w+::)/,
    isOwnRecord: ({ level, target }) =>
      typeof target === 'string' && /^(?:TRACE|DEBUG|INFO|WARN|ERROR)$/.test(String(level)),
  },
};
