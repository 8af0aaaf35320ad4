import { DYNAMO_RULES } from './rules/dynamo.js';
import type { Rule } from './rules/rule.js';

/** All kinds of lines that are known. */
export const LOG_RULES: readonly Rule[] = [...DYNAMO_RULES];
