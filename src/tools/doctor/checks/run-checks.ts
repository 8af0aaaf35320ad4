import type { CheckResult } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { trafficOf } from '../memory/traffic.js';
import type { Check } from './check.js';
import { CONFIGURATION_CHECKS } from './configuration.js';
import { MEMORY_CHECKS } from './memory-pressure.js';
import { SYNCHRONISATION_CHECKS } from './synchronisation.js';

/** All questions, in the order in which a person asks them. */
const ALL_CHECKS: readonly Check[] = [...CONFIGURATION_CHECKS, ...SYNCHRONISATION_CHECKS, ...MEMORY_CHECKS];

/** Each question with its answer, or with what is missing for one. Never throws. */
export function runChecks(measurements: Measurements): readonly CheckResult[] {
  const asked = { measurements, traffic: trafficOf(measurements.evidence) };
  return ALL_CHECKS.map(({ id, asks, answer }) => ({ id, asks, ...answer(asked) }));
}
