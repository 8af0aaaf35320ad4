import { countOf } from '../../../core/text/lists.js';
import { NO_BLOCKS } from '../../../engines/dynamo/event-lines.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import type { Origin } from '../evidence.js';
import { blindWorkers } from '../measurements/blind-workers.js';
import { blindness, engineReuses, MIN_DECISIONS, noneFound, percent } from '../measurements/cache-hits.js';
import { courseOf } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { missingParentsClue, missingShare } from './routing-clues.js';

/** Stores that fail from this share on are no accident. */
const DOMINATING = 0.25;
/** Fewer warnings are those of a few conversations. */
const MANY_WARNINGS = 10;
/** Part of the stores without a parent that have no blocks either: an engine stores none of that kind. */
const NEARLY_ALL = 0.95;
/** Workers that a headline names. */
const MAX_NAMED = 4;

/** Whether lines say that the index of a router lacks blocks. */
export function hasParentWarnings(measurements: Measurements): boolean {
  return (
    measurements.signal('parent_block_not_found') !== undefined ||
    measurements.signal('block_to_remove_not_found') !== undefined ||
    measurements.decisions?.largestTreeSize === 0
  );
}

/** Stores whose parents the router never had. */
export function missingParents(measurements: Measurements): readonly ClueFor[] {
  const { stores } = measurements;
  const share = missingShare(measurements);
  const isReusedBlindly = engineReuses(measurements) !== undefined && blindness(measurements) !== undefined;
  // Hits that end while stores lose their parents are no prompts that share nothing.
  const hasEnded = measurements.ended !== undefined;
  return [
    ...when((share ?? 0) >= DOMINATING && stores, (counts) =>
      missingParentsClue(
        counts,
        isReusedBlindly ? 'signature' : 'sign',
        isReusedBlindly ? ', found nothing, and the engines had prompts in their caches' : '',
      ),
    ),
    ...when(measurements.signal('parent_block_not_found'), ({ count, first }) =>
      clueFor(
        hasEnded || (isReusedBlindly && (share ?? 1) >= DOMINATING) ? 'signature' : 'sign',
        `${countOf(count, 'warning')} "Failed to find parent block".`,
        first,
        'parents_missing',
      ),
    ),
    ...when(emptiedStoreWarnings(measurements), ({ emptied, count, first }) =>
      clueFor(
        'signature',
        `${emptied} of ${countOf(count, 'store')} without a parent have no blocks either (${NO_BLOCKS}), as a publisher leaves them whose block size is not that of its engine.`,
        first,
        'parents_missing',
      ),
    ),
    ...when(
      noneFound(measurements) !== undefined && measurements.signal('block_to_remove_not_found'),
      ({ count, first }) =>
        clueFor(
          'sign',
          `${countOf(count, 'warning')} "Failed to find block to remove": engines drop blocks that the router never had.`,
          first,
          'parents_missing',
        ),
    ),
  ];
}

/** Stores that lack their parents and have no blocks: lost events and a late router leave them their blocks. */
export function emptiedStoreWarnings({
  signal,
}: Pick<Measurements, 'signal'>):
  | { readonly emptied: number; readonly count: number; readonly first: Origin }
  | undefined {
  const missing = signal('parent_block_not_found');
  const emptied = missing?.values.get(NO_BLOCKS) ?? 0;
  return missing === undefined || emptied < Math.max(MANY_WARNINGS, missing.count * NEARLY_ALL)
    ? undefined
    : { emptied, count: missing.count, first: missing.first };
}

/** Of some workers nothing is ever found, of the others much. */
export function missingParentsOfSome(measurements: Measurements): readonly ClueFor[] {
  const { decisions } = measurements;
  return blindWorkers(measurements).map(({ worker, decisions: count, warnings, others }) =>
    clueFor(
      'signature',
      `Worker ${worker} was chosen ${count} times, never with a block, while ${percent(others)} of the decisions for the others found some; ${countOf(warnings, 'warning')} of missing parents are its own.`,
      decisions?.origin,
      'parents_missing',
    ),
  );
}

/** ` of worker 11`, where the others are found. */
export function ofSome(measurements: Measurements): string {
  const blind = blindWorkers(measurements).map(({ worker }) => worker);
  const names = blind.slice(0, MAX_NAMED).join(', ');
  return blind.length === 0 ? '' : ` of worker${blind.length === 1 ? '' : 's'} ${names}`;
}

/**
 * An index without a block of anybody. Where stores come all the time and none of them leaves a block, not even one that
 * begins a conversation, they are not those that a late or a forgetful router lacks.
 */
export function emptyTree({ decisions, signal }: Measurements): readonly ClueFor[] {
  const warnings = signal('parent_block_not_found')?.count ?? 0;
  return when(decisions?.largestTreeSize === 0 && decisions, ({ reporting, origin }) =>
    clueFor(
      reporting >= MIN_DECISIONS && warnings >= MANY_WARNINGS ? 'signature' : 'sign',
      `"tree size: 0" in all of ${countOf(reporting, 'decision')}: the router holds no block of any worker.`,
      origin,
      'empty_tree',
    ),
  );
}

/** A mismatch does not pass by itself. */
export function onlyAtFirst(measurements: Measurements): readonly ClueAgainst[] {
  const missing = measurements.signal('parent_block_not_found');
  const courses = missing?.logs.map((entry) => courseOf(entry)) ?? [];
  // Warnings end as well when requests do: only a router that then finds something has got over it.
  const hasPassed =
    blindness(measurements) === undefined &&
    courses.length > 0 &&
    courses.every((course) => course !== undefined && course.late === 0 && course.early >= 0.8);
  const isRare = (missingShare(measurements) ?? 1) < 0.05;
  return [
    ...when(hasPassed && missing, ({ first }) =>
      clueAgainst(
        'weakens',
        'The warnings of missing parents stand at the beginning of the log and have ended; those of a mismatch go on.',
        first,
      ),
    ),
    ...when(isRare && measurements.stores, ({ applied, parentMissing, origin }) =>
      clueAgainst(
        'weakens',
        `The router applied ${applied} stores and missed the parents of ${parentMissing}.`,
        origin,
      ),
    ),
  ];
}
