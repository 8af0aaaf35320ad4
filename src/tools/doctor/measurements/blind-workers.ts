import { courseOf } from './log-sums.js';
import type { Measurements } from './measurements.js';

/** A worker of which a router that finds blocks of the others finds none. */
export interface BlindWorker {
  readonly worker: string;
  readonly decisions: number;
  /** Warnings of its stores whose parent the router does not know. */
  readonly warnings: number;
  /** What was found of the other workers, 0 to 1. */
  readonly others: number;
}

/** Fewer decisions without a block may be those of first prompts alone. */
const MANY_DECISIONS = 50;
/** Where less is found of the others, it may be chance. */
const OTHERS_FIND = 0.2;
/** Fewer warnings are those of conversations that are older than the router. */
const MANY_WARNINGS = 20;
/** Part of all such warnings. */
const NEARLY_ALL = 0.8;
/** Part of the warnings in the last quarter of the log: those of a fault go on. */
const GOES_ON = 0.1;

/**
 * Workers of which not one decision found a block, while blocks of the others are found and
 * nearly all stores without a parent are theirs, up to the end. A worker that serves first
 * prompts alone, or prefill engines for it, has no such stores.
 */
export function blindWorkers(
  measurements: Pick<Measurements, 'decisions' | 'signal'>,
): readonly BlindWorker[] {
  const { decisions } = measurements;
  const missing = measurements.signal('parent_block_not_found');
  if (decisions === undefined || decisions.reporting === 0 || missing === undefined) return [];
  const courses = missing.logs.map((entry) => courseOf(entry));
  if (!courses.every((course) => course === undefined || course.late >= GOES_ON)) return [];
  const all = [...decisions.byWorker].map(([worker, count]) => ({
    worker,
    decisions: count,
    found: decisions.foundByWorker.get(worker) ?? 0,
    warnings: missing.byWorker.get(worker) ?? 0,
  }));
  const blind = all.filter(
    ({ worker, decisions: count, found, warnings }) =>
      worker !== '' && count >= MANY_DECISIONS && found === 0 && warnings >= MANY_WARNINGS,
  );
  const others = all.filter((one) => !blind.includes(one));
  const served = others.reduce((sum, { decisions: count }) => sum + count, 0);
  const share = others.reduce((sum, { found }) => sum + found, 0) / Math.max(1, served);
  const warnings = blind.reduce((sum, one) => sum + one.warnings, 0);
  if (served < MANY_DECISIONS || share < OTHERS_FIND || warnings < missing.count * NEARLY_ALL) return [];
  return blind.map(({ worker, decisions: count, warnings: own }) => ({
    worker,
    decisions: count,
    warnings: own,
    others: share,
  }));
}
