import { countOf } from '../../../core/text/lists.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import { storeChecks } from '../fixes/confirm.js';
import { eventRoomFix } from '../fixes/events.js';
import { blindness, findsBlocks, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import { courseOf } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { missingParentsClue, missingShare } from './routing-clues.js';

/** A router that finds this part of what engines have has caught up. */
const PASSED = 0.9;

/** The router began after the engines had stored blocks, and does not know their parents. */
export const frontendLate: Cause = {
  id: 'frontend_late',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements, { part: PASSED }),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { stores, sizes } = measurements;
    const missing = measurements.signal('parent_block_not_found');
    const courses = missing?.logs.flatMap((entry) => courseOf(entry) ?? []) ?? [];
    // A router that found nothing has not caught up: warnings end as well when requests do.
    const isBlind = blindness(measurements) !== undefined;
    const early =
      !isBlind && courses.length > 0 && courses.every((course) => course.early >= 0.6 && course.late < 0.1);
    const share = missingShare(measurements) ?? 0;
    const isFinding = findsBlocks(measurements) !== undefined;
    const cluesFor: readonly ClueFor[] = [
      ...when(early && missing, ({ count, first }) =>
        clueFor(
          'signature',
          `${countOf(count, 'warning')} "Failed to find parent block", nearly all in the first quarter of the log and none at its end.`,
          first,
          'parents_missing',
        ),
      ),
      ...when(share > 0.005 && share < 0.5 && isFinding && stores, (counts) =>
        missingParentsClue(counts, 'sign', ' and finds blocks nevertheless, as it does after a late start'),
      ),
      ...when(share >= 0.5 && sizes.agreed !== undefined && stores, (counts) =>
        missingParentsClue(
          counts,
          'sign',
          ', and it has the same block size as the engines: these conversations seem to be older than the router',
        ),
      ),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        'The frontend started late: it does not know what engines had stored before, and learns it as prompts come back',
      explanation:
        'Engines that ran before the frontend hold blocks that it never heard of. Stores that continue them have no parent it knows and are skipped, until the old blocks are evicted. It passes by itself, in minutes under load.',
      cluesFor,
      cluesAgainst: goesOn(measurements),
      explains: ['parents_missing'],
      fixes: [
        {
          says: 'Wait ten minutes, and run the doctor on the log since then: kubectl logs FRONTEND --since=10m | kv-accord doctor -',
          why: 'It passes as old blocks are evicted. New prompts are placed correctly from the start. Nothing has to be changed.',
          disturbs: 'nothing',
          files: [],
          commands: ['kubectl logs FRONTEND --since=10m | kv-accord doctor -'],
          verify: storeChecks(measurements.seen),
        },
        eventRoomFix(measurements),
      ],
    };
  },
};

/** What belongs to a late start ends. */
function goesOn(measurements: Measurements): readonly ClueAgainst[] {
  const { sizes, stores } = measurements;
  // Where router and engines agree, only older blocks can miss so many parents, for as long as their prompts come back.
  const weight = sizes.agreed === undefined ? 'refutes' : 'noted';
  const missing = measurements.signal('parent_block_not_found');
  const lasting = missing?.logs.find((entry) => (courseOf(entry)?.late ?? 0) >= 0.2);
  const share = missingShare(measurements) ?? 0;
  return [
    ...when(lasting, ({ tally }) =>
      clueAgainst(weight, 'The warnings of missing parents go on until the end of the log.', tally.first),
    ),
    ...when(share >= 0.5 && stores, ({ origin }) =>
      clueAgainst(weight, `Most stores fail (${percent(share)}).`, origin),
    ),
  ];
}
