import { ALL_CAUSES } from './causes.js';
import type { Diagnosis } from './diagnosis.js';
import type { Evidence } from './evidence.js';
import type { MemoryArithmetic } from './memory/memory-arithmetic.js';
import { readPicture } from './picture.js';
import { rankCauses } from './rank.js';
import { routingOf, unknownsOf, verdictOf } from './verdict.js';

/**
 * What is wrong, how sure it is, and what would mend it. Pure: the same
 * evidence in any order gives the same answer. Never throws.
 */
export function diagnose(evidence: Evidence, memory: readonly MemoryArithmetic[] = []): Diagnosis {
  const picture = readPicture(evidence, memory);
  const assessments = rankCauses(ALL_CAUSES, picture);
  return {
    ...verdictOf(picture, assessments),
    assessments,
    unknowns: unknownsOf(picture),
    routing: routingOf(picture),
    memory,
  };
}
