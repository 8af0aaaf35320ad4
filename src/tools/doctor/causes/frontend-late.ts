import { counted } from '../counted.js';
import { STORE_CHECKS } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { courseOf, findsBlocks, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { missingShare, percent } from './shared-clues.js';

/** The router began after the engines had stored blocks, and does not know their parents. */
export const frontendLate: Cause = {
  id: 'frontend_late',
  suspect(picture: Picture): Suspicion | undefined {
    const missing = picture.signal('parent_block_not_found');
    const courses = missing?.logs.flatMap((entry) => courseOf(entry) ?? []) ?? [];
    const early = courses.length > 0 && courses.every((course) => course.early >= 0.6 && course.late < 0.1);
    const share = missingShare(picture);
    const found = findsBlocks(picture);
    const cluesFor: readonly ClueFor[] = [
      ...(missing !== undefined && early
        ? [
            {
              says: `${counted(missing.count, 'warning')} "Failed to find parent block", nearly all in the first quarter of the log and none at its end.`,
              origin: missing.first,
              weight: 'signature' as const,
              symptom: 'parents_missing' as const,
            },
          ]
        : []),
      ...(share !== undefined &&
      share > 0.005 &&
      share < 0.5 &&
      found !== undefined &&
      picture.stores !== undefined
        ? [
            {
              says: `The router lacked the parents of ${picture.stores.parentMissing} of ${picture.stores.applied + picture.stores.parentMissing} stores (${percent(share)}) and finds blocks all the same, as it does after it began in the middle.`,
              origin: picture.stores.origin,
              weight: 'sign' as const,
              symptom: 'parents_missing' as const,
            },
          ]
        : []),
      ...(share !== undefined &&
      share >= 0.5 &&
      picture.sizes.agreed !== undefined &&
      picture.stores !== undefined
        ? [
            {
              says: `The router lacked the parents of ${picture.stores.parentMissing} of ${picture.stores.applied + picture.stores.parentMissing} stores (${percent(share)}), and it has the same block size as the engines: these conversations seem to be older than itself.`,
              origin: picture.stores.origin,
              weight: 'sign' as const,
              symptom: 'parents_missing' as const,
            },
          ]
        : []),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        'The frontend started late: it does not know what engines had stored before, and learns it as prompts come back',
      explanation:
        'Engines that ran before the frontend hold blocks that it never heard of. Stores that continue them have no parent it knows and are skipped, until the old blocks are evicted. It passes by itself, in minutes under load.',
      cluesFor,
      cluesAgainst: goesOn(picture),
      explains: ['parents_missing'],
      fixes: [
        {
          says: 'Wait: it passes as old blocks are evicted, and look again',
          why: 'New prompts are placed rightly from the first. Nothing has to be changed.',
          disturbs: 'nothing',
          files: [],
          commands: [],
          verify: STORE_CHECKS,
        },
        {
          says: "Let the router read what workers hold as it starts (the workers' local indexers), or give engines a replay socket",
          why: 'With a snapshot or a replay a frontend that starts late knows what was stored before it.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            argumentsOf(
              'vLLM or SGLang',
              `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557","replay_endpoint":"tcp://*:5558","buffer_steps":10000}'`,
            ),
          ],
          verify: STORE_CHECKS,
        },
      ],
    };
  },
};

/** What belongs to a late start ends. */
function goesOn(picture: Picture): readonly ClueAgainst[] {
  // Where router and engines agree, only what was before can lack so many parents, for as long as it comes back.
  const weight = picture.sizes.agreed === undefined ? 'refutes' : 'noted';
  const missing = picture.signal('parent_block_not_found');
  const lasting = missing?.logs.find((entry) => (courseOf(entry)?.late ?? 0) >= 0.2);
  const share = missingShare(picture);
  return [
    ...(lasting === undefined
      ? []
      : [
          {
            says: 'The warnings of missing parents go on until the end of the log.',
            origin: lasting.tally.first,
            weight: weight as ClueAgainst['weight'],
          },
        ]),
    ...(share !== undefined && share >= 0.5 && picture.stores !== undefined
      ? [
          {
            says: `Most stores fail (${percent(share)}).`,
            origin: picture.stores.origin,
            weight: weight as ClueAgainst['weight'],
          },
        ]
      : []),
  ];
}
