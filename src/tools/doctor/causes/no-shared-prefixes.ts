import { counted } from '../counted.js';
import { confirmingTest } from '../fixes/confirm.js';
import { blindness, engineReuses, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { missingShare, percent } from './shared-clues.js';

/** Requests before it is no more a matter of a cold start: of so many conversations that begin at once, none has a second turn yet. */
const MANY_REQUESTS = 100;

/** Prompts have nothing in common: there is nothing to find. */
export const noSharedPrefixes: Cause = {
  id: 'no_shared_prefixes',
  suspect(picture: Picture): Suspicion | undefined {
    const blind = blindness(picture);
    const { engineHits, stores } = picture;
    if (blind === undefined || engineHits === undefined || engineReuses(picture) !== undefined)
      return undefined;
    if (blind.count < MANY_REQUESTS) return undefined;
    const isAgreed = picture.sizes.agreed !== undefined;
    const isApplied = stores !== undefined && stores.applied > 0 && (missingShare(picture) ?? 0) < 0.01;
    const cluesFor: readonly ClueFor[] = [
      {
        says: `Engines had ${percent(engineHits.share)} of prompts in their caches, and the router found nothing in ${counted(blind.count, 'decision')}: they agree.`,
        origin: engineHits.origin,
        weight: isApplied && isAgreed ? 'signature' : 'sign',
        symptom: 'nothing_cached',
      },
      ...(isApplied
        ? [
            {
              says: `${counted(stores.applied, 'store')} arrived and were applied.`,
              origin: stores.origin,
              weight: 'sign' as const,
              symptom: 'nothing_cached' as const,
            },
          ]
        : []),
    ];
    return {
      headline:
        'Prompts seem to have no common prefixes: engines reuse nothing, and there is nothing to find',
      explanation:
        'A cache helps where prompts begin alike for at least one block. A time, a request id or a user name at the begin of a system prompt makes every prompt another one from its first block.',
      cluesFor,
      cluesAgainst: [...pressure(picture), ...(isAgreed ? [] : [SCATTERED])],
      explains: [],
      fixes: [
        confirmingTest(picture),
        {
          says: 'Move what changes from request to request behind what stays the same in prompts',
          why: 'Blocks are found from the begin of a prompt up to the first token that differs. It is a change of the clients alone.',
          disturbs: 'nothing',
          files: [],
          commands: [],
          verify: [
            'curl -s http://FRONTEND:8000/metrics | grep dynamo_frontend_cached_tokens    # the sum grows with follow-up turns',
          ],
        },
      ],
    };
  },
};

/** What one cannot tell from the outside. */
const SCATTERED: ClueAgainst = {
  says: 'It was not seen that router and engines use the same block size. A router that is blind scatters conversations over workers, and then engines find little as well.',
  origin: undefined,
  weight: 'noted',
};

function pressure({ preemptions, stores }: Picture): readonly ClueAgainst[] {
  const isTurningOver = stores !== undefined && stores.removed + stores.removeMissing > stores.applied / 2;
  return [
    ...(preemptions === undefined || preemptions.value <= 0
      ? []
      : [
          {
            says: `Engines ran out of blocks (${counted(preemptions.value, 'preemption')}): prefixes may have been there and gone.`,
            origin: preemptions.origin,
            weight: 'weakens' as const,
          },
        ]),
    ...(isTurningOver
      ? [
          {
            says: 'Engines dropped more than half of as many blocks as they told of stores: prefixes may have been there and gone.',
            origin: stores.origin,
            weight: 'weakens' as const,
          },
        ]
      : []),
  ];
}
