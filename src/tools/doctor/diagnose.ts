import { ALL_CAUSES } from './causes/all-causes.js';
import { runChecks } from './checks/run-checks.js';
import type { Assessment, Diagnosis } from './diagnosis.js';
import type { Evidence } from './evidence.js';
import { loadOf, memoryOptions, tightest } from './fixes/memory.js';
import { type Measurements, readMeasurements } from './measurements/measurements.js';
import type { MemoryArithmetic } from './memory/memory-arithmetic.js';
import { rankCauses } from './rank.js';
import { remarksIn } from './remarks/remarks.js';
import { unknownsIn } from './unknowns.js';
import { routingOf, verdictOf } from './verdict.js';

/**
 * What is wrong, how sure it is, and what would fix it. Pure: the same
 * evidence in any order gives the same answer. Never throws.
 */
export function diagnose(evidence: Evidence, memory: readonly MemoryArithmetic[] = []): Diagnosis {
  const measurements = readMeasurements(evidence, memory);
  const assessments = rankCauses(ALL_CAUSES, measurements);
  const remarks = remarksIn(measurements);
  const unknowns = unknownsIn(measurements, remarks);
  return {
    ...verdictOf(measurements, assessments, remarks, unknowns),
    assessments,
    options: optionsOf(measurements, assessments),
    unknowns: unknowns.map(({ says }) => says),
    checks: runChecks(measurements),
    routing: routingOf(measurements),
    memory,
  };
}

/** Running sequences that need more of the cache leave too little to prefixes. */
const TIGHT = 0.5;

/** Where memory is tight, what to do about it after the finding; churn itself has these as its fixes. */
function optionsOf(measurements: Measurements, [first]: readonly Assessment[]): Diagnosis['options'] {
  const tight = tightest(measurements.memory);
  const isTight = tight !== undefined && loadOf(tight) >= TIGHT;
  return isTight && first !== undefined && first.cause !== 'cache_churn' ? memoryOptions(measurements) : [];
}
