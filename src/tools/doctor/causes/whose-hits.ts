import type { Clue } from '../diagnosis.js';
import { blindWorkers } from '../measurements/blind-workers.js';
import { MIN_DECISIONS } from '../measurements/cache-hits.js';
import { decisionsFrom, firstTimeOf } from '../measurements/decision-course.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { SizeConflict } from '../measurements/sizes.js';
import { partOfWorkers } from './routing-clues.js';

/** A worker that is chosen so often and has no hit may be the one that a line is of. */
const MANY_DECISIONS = 20;
/** Lines with two sizes, of a worker that they may not name. */
const NAMING = ['block_not_published', 'router_size_mismatch'] as const;
/** Of a fault that began, a router that finds more was not blinded by it. */
const FINDS_STILL = 0.05;

/**
 * A router that finds what engines have, where its hits are those of all that a
 * wrong block size is said of: of the same model and workers, of the time after
 * the line, not for a worker that kv-accord keeps apart, nor for an index or a
 * router beside the one whose hits are known.
 */
export function hitsOfAllConcerned(
  measurements: Measurements,
  conflicts: readonly SizeConflict[],
): readonly Clue[] {
  if (isKeptApart(measurements, conflicts) || isOfOthers(measurements, conflicts)) return [];
  const proven = conflicts.filter(({ isProof }) => isProof);
  const dropping = droppingWorkers(measurements);
  const served = measurements.decisions?.byWorker.size ?? 0;
  const concerned =
    proven.length > 0 || dropping.length === 0 || served === 0
      ? partOfWorkers(
          measurements,
          proven.map(({ theirs }) => theirs.who),
        )
      : Math.min(1, dropping.length / served);
  return findsWhatEnginesHave(measurements, { concerned });
}

/** Whether what the router finds is of another model, of other workers, or of the time before the fault. */
export function isOfOthers(measurements: Measurements, conflicts: readonly SizeConflict[]): boolean {
  return (
    conflicts.some(({ isProof, ofModel }) => isProof && ofModel !== undefined) ||
    blindWorkers(measurements).length > 0 ||
    isBeforeTheLine(measurements) ||
    mayBeWithoutHits(measurements)
  );
}

function isKeptApart(measurements: Measurements, conflicts: readonly SizeConflict[]): boolean {
  const proven = conflicts.filter(({ isProof }) => isProof);
  const hasFrontend =
    measurements.sizes.rows.some(({ side }) => side === 'frontend') ||
    measurements.evidence.metrics.some(({ program }) => program === 'dynamo-frontend');
  return (
    measurements.signal('accord_mismatch') !== undefined ||
    measurements.signal('accord_conflict') !== undefined ||
    proven.some(
      ({ between, ours: { side } }) =>
        between === 'workers' ||
        (between === 'sides' && (side === 'indexer' || (side === 'router' && hasFrontend))),
    )
  );
}

/** The workers that lines of blocks that were not published name. */
function droppingWorkers(measurements: Measurements): readonly string[] {
  const workers = measurements.signal('block_not_published')?.byWorker.keys() ?? [];
  return [...workers].filter((who) => who !== '');
}

/** What was found before a line with two sizes does not contradict it. */
function isBeforeTheLine({ evidence: { logs } }: Measurements): boolean {
  const ms = firstTimeOf(logs, NAMING);
  const since = ms === undefined ? undefined : decisionsFrom(logs, ms);
  return (
    since !== undefined && (since.decisions < MIN_DECISIONS || since.found < since.decisions * FINDS_STILL)
  );
}

/** A publisher drops the blocks of its engine, and it is, or may be, a worker of which nothing is found. */
function mayBeWithoutHits(measurements: Measurements): boolean {
  const { decisions } = measurements;
  if (decisions === undefined || decisions.reporting === 0) return false;
  if (!NAMING.some((name) => measurements.signal(name) !== undefined)) return false;
  const named = droppingWorkers(measurements).filter((who) => decisions.byWorker.has(who));
  const asked = named.length > 0 ? named : [...decisions.byWorker.keys()];
  return asked.some(
    (who) =>
      (decisions.byWorker.get(who) ?? 0) >= MANY_DECISIONS && (decisions.foundByWorker.get(who) ?? 0) === 0,
  );
}
