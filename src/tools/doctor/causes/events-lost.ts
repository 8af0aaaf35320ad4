import { counted } from '../counted.js';
import { lossFixes } from '../fixes/events.js';
import { findsBlocks, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { missingShare, percent } from './shared-clues.js';

/** Events arrive with gaps. */
export const eventsLost: Cause = {
  id: 'events_lost',
  suspect(picture: Picture): Suspicion | undefined {
    const lost = picture.signal('events_lost');
    const isHurt =
      (missingShare(picture) ?? 0) > 0.005 || picture.signal('parent_block_not_found') !== undefined;
    const dropped = picture.gaps?.value ?? 0;
    const cluesFor: readonly ClueFor[] = [
      ...(picture.gaps !== undefined && dropped > 0
        ? [
            {
              says: `Publishers dropped ${counted(dropped, 'event')}.`,
              origin: picture.gaps.origin,
              weight: isHurt ? ('proof' as const) : ('signature' as const),
            },
          ]
        : []),
      ...(lost === undefined
        ? []
        : [
            {
              says: `${counted(lost.count, 'line')} of gaps in the numbers of KV events${valuesOf(lost.values)}.`,
              origin: lost.first,
              weight: isHurt ? ('proof' as const) : ('signature' as const),
            },
          ]),
      ...scatteredMisses(picture),
    ];
    if (!cluesFor.some(({ weight }) => weight !== 'sign')) return undefined;
    return {
      headline: `KV events get lost: ${lost === undefined ? counted(dropped, 'event') : counted(lost.count, 'gap')} ${dropped > 0 && lost === undefined ? 'dropped' : 'told of'}, and what hangs on them cannot be placed`,
      explanation:
        'Each store names its parent. When one is lost, all that follows it in the same sequence finds no parent and is skipped, and a removal that is lost leaves the router believing in blocks that are gone.',
      cluesFor,
      cluesAgainst: stillWorking(picture),
      explains: ['parents_missing'],
      fixes: lossFixes(),
    };
  },
};

function valuesOf(values: ReadonlyMap<string, number>): string {
  const names = [...values.keys()].sort().slice(0, 3);
  return names.length === 0 ? '' : ` (${names.join(', ')})`;
}

/** Parents that lack now and then, while most stores are applied. */
function scatteredMisses(picture: Picture): readonly ClueFor[] {
  const share = missingShare(picture);
  return share === undefined || share <= 0.005 || share >= 0.5 || picture.stores === undefined
    ? []
    : [
        {
          says: `The router lacked the parents of ${picture.stores.parentMissing} of ${picture.stores.applied + picture.stores.parentMissing} stores (${percent(share)}), and applied the others.`,
          origin: picture.stores.origin,
          weight: 'sign',
          symptom: 'parents_missing',
        },
      ];
}

/** Gaps that were closed by a replay do no harm. */
function stillWorking(picture: Picture): readonly ClueAgainst[] {
  const found = findsBlocks(picture);
  const { engineHits } = picture;
  const isClose = found !== undefined && (engineHits === undefined || found.share >= engineHits.share * 0.8);
  if (!isClose || found === undefined) return [];
  return [
    {
      says: `The router finds about what engines have (${percent(found.share)}${engineHits === undefined ? '' : ` against ${percent(engineHits.share)}`}): gaps seem to have been closed.`,
      origin: found.origin,
      // Without what engines had, a router that finds something may find half of it.
      weight: engineHits === undefined || (missingShare(picture) ?? 0) > 0.005 ? 'weakens' : 'refutes',
    },
  ];
}
