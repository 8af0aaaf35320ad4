import { ALL_CAUSES } from './causes.js';
import type { Diagnosis } from './diagnosis.js';
import type { Evidence } from './evidence.js';
import { readMeasurements } from './measurements/measurements.js';
import type { MemoryArithmetic } from './memory/memory-arithmetic.js';
import { rankCauses } from './rank.js';
import { routingOf, unknownsOf, verdictOf } from './verdict.js';

/**
 * What is wrong, how sure it is, and what would fix it. Pure: the same
 * evidence in any order gives the same answer. Never throws.
 */
export function diagnose(evidence: Evidence, memory: readonly MemoryArithmetic[] = []): Diagnosis {
  const measurements = readMeasurements(evidence, memory);
  const assessments = rankCauses(ALL_CAUSES, measurements);
  return {
    ...verdictOf(measurements, assessments),
    assessments,
    unknowns: unknownsOf(measurements),
    routing: routingOf(measurements),
    memory,
  };
}
