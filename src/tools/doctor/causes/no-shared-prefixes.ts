import { countOf } from '../../../core/text/lists.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import { confirmingTest, hitChecks } from '../fixes/confirm.js';
import { blindness, engineReuses, percent } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { missingShare } from './routing-clues.js';

/** From this many requests on it is no matter of a cold start: of many conversations that begin together, none has a second turn yet. */
const MANY_REQUESTS = 100;

/** Prompts have nothing in common: there is nothing to find. */
export const noSharedPrefixes: Cause = {
  id: 'no_shared_prefixes',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) =>
    when(engineReuses(measurements), ({ share, origin }) => ({
      says: `Engines had ${percent(share)} of prompts in their caches.`,
      origin,
    })),
  suspect(measurements: Measurements): Suspicion | undefined {
    const blind = blindness(measurements);
    const { engineHits, stores, sizes } = measurements;
    if (blind === undefined || engineHits === undefined || engineReuses(measurements) !== undefined)
      return undefined;
    if (blind.count < MANY_REQUESTS || measurements.short !== undefined) return undefined;
    const isAgreed = sizes.agreed !== undefined;
    const isApplied = stores !== undefined && stores.applied > 0 && (missingShare(measurements) ?? 0) < 0.01;
    const cluesFor: readonly ClueFor[] = [
      clueFor(
        isApplied && isAgreed ? 'signature' : 'sign',
        `Engines had ${percent(engineHits.share)} of prompts in their caches, and the router found nothing in ${countOf(blind.count, 'decision')}: they agree.`,
        engineHits.origin,
        'nothing_cached',
      ),
      ...when(isApplied && stores, ({ applied, origin }) =>
        clueFor('sign', `${countOf(applied, 'store')} arrived and were applied.`, origin, 'nothing_cached'),
      ),
    ];
    return {
      headline:
        'Prompts seem to have no common prefixes: engines reuse nothing, and there is nothing to find',
      explanation:
        'A cache helps where prompts begin alike for at least one block. A time, a request id or a user name at the beginning of a system prompt makes every prompt different from its first block on.',
      cluesFor,
      cluesAgainst: [...pressure(measurements), ...(isAgreed ? [] : [SCATTERED])],
      explains: [],
      fixes: [
        confirmingTest(measurements),
        {
          says: 'Move what changes from request to request (times, ids, names) to the end of the prompts of your clients',
          why: 'Blocks are found from the beginning of a prompt up to the first token that differs. It is a change of the clients alone.',
          disturbs: 'nothing',
          files: [],
          commands: [],
          verify: hitChecks(measurements.seen),
        },
      ],
    };
  },
};

/** What cannot be seen from the outside. */
const SCATTERED: ClueAgainst = clueAgainst(
  'noted',
  'It was not seen that router and engines use the same block size. A router that is blind scatters conversations over workers, and then engines find little as well.',
  undefined,
);

function pressure({ preemptions, stores }: Measurements): readonly ClueAgainst[] {
  const isTurningOver = stores !== undefined && stores.removed + stores.removeMissing > stores.applied / 2;
  return [
    ...when(preemptions !== undefined && preemptions.value > 0 && preemptions, ({ value, origin }) =>
      clueAgainst(
        'weakens',
        `Engines ran out of blocks (${countOf(value, 'preemption')}): prefixes may have been there and gone.`,
        origin,
      ),
    ),
    ...when(isTurningOver && stores, ({ origin }) =>
      clueAgainst(
        'weakens',
        'Engines dropped more than half as many blocks as they stored: prefixes may have been there and gone.',
        origin,
      ),
    ),
  ];
}
