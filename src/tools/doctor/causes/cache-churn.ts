import { counted } from '../counted.js';
import { loadOf, memoryFixes, tightest } from '../fixes/memory.js';
import { blindness, engineReuses, findsBlocks, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { percent } from './shared-clues.js';

/** Removals for each store from which on the cache turns over. */
const TURNING = 0.8;
/** Fewer stores say nothing about a rate. */
const MANY_STORES = 50;
/** A cache that is fuller has no room for what nobody uses. */
const FULL = 0.95;
/** Engines that still find this much do keep prefixes long enough. */
const ENOUGH = 0.2;

/** The cache turns over faster than conversations come back. */
export const cacheChurn: Cause = {
  id: 'cache_churn',
  suspect(picture: Picture): Suspicion | undefined {
    const pressure = [...preemptions(picture), ...fullCache(picture), ...overload(picture)];
    const turnover = turnoverOf(picture);
    const isBoth = pressure.length > 0 && turnover.length > 0;
    const hasProof = pressure.some(({ weight }) => weight === 'proof');
    const cluesFor: readonly ClueFor[] = [
      ...pressure,
      ...turnover.map((clue) => ({
        ...clue,
        weight: isBoth && !hasProof ? ('signature' as const) : clue.weight,
      })),
    ];
    if (cluesFor.length === 0 || !isHarmful(picture)) return undefined;
    const { stores } = picture;
    const rate =
      stores === undefined || turnover.length === 0
        ? ''
        : `: ${stores.removed + stores.removeMissing} removals against ${stores.applied + stores.parentMissing} stores`;
    return {
      headline: `The KV cache turns over faster than conversations come back${rate}`,
      explanation:
        'Running sequences take the blocks of prefixes that nobody uses at the moment. When a conversation comes back its blocks are gone, on every worker: the router is right to find nothing, and each turn is computed anew.',
      cluesFor,
      cluesAgainst: against(picture),
      explains: ['nothing_cached'],
      fixes: memoryFixes(picture),
    };
  },
};

/** Churn is how a full cache works. It is a fault only where little is found. */
function isHarmful(picture: Picture): boolean {
  const { engineHits } = picture;
  const found = findsBlocks(picture);
  if (engineHits !== undefined) return engineHits.share < ENOUGH;
  return found === undefined || found.share < ENOUGH;
}

function preemptions({ preemptions: taken }: Picture): readonly ClueFor[] {
  return taken === undefined || taken.value <= 0
    ? []
    : [
        {
          says: `Engines took running requests off the GPU for want of blocks (${counted(taken.value, 'preemption')}).`,
          origin: taken.origin,
          weight: 'sign',
        },
      ];
}

function fullCache({ kvUsage }: Picture): readonly ClueFor[] {
  return kvUsage === undefined || kvUsage.value < FULL
    ? []
    : [
        {
          says: `Running sequences hold up to ${percent(kvUsage.value)} of the KV cache.`,
          origin: kvUsage.origin,
          weight: 'sign',
        },
      ];
}

function overload(picture: Picture): readonly ClueFor[] {
  const memory = tightest(picture.memory);
  if (memory === undefined || loadOf(memory) < 1) return [];
  const isFelt = (picture.preemptions?.value ?? 0) > 0 || (picture.kvUsage?.value ?? 0) >= FULL;
  return [
    {
      says: `Sequences at their longest need ${memory.demandTokens} tokens, and the cache${memory.who === '' ? '' : ` of ${memory.who}`} has room for ${memory.capacityTokens}.`,
      origin: memory.steps.flatMap(({ origins }) => origins)[0],
      weight: isFelt ? 'proof' : 'sign',
    },
  ];
}

function turnoverOf({ stores }: Picture): readonly ClueFor[] {
  if (stores === undefined) return [];
  const stored = stores.applied + stores.parentMissing;
  const removed = stores.removed + stores.removeMissing;
  return stored < MANY_STORES || removed < stored * TURNING
    ? []
    : [
        {
          says: `${removed} removals against ${stored} stores: nearly all that is stored is soon dropped again.`,
          origin: stores.origin,
          weight: 'sign',
        },
      ];
}

function against(picture: Picture): readonly ClueAgainst[] {
  const { kvUsage, engineHits, decisions } = picture;
  const reused = engineReuses(picture);
  return [
    ...(kvUsage !== undefined && kvUsage.value < 0.7
      ? [
          {
            says: `At most ${percent(kvUsage.value)} of the KV cache was in use when it was looked at.`,
            origin: kvUsage.origin,
            weight: 'weakens' as const,
          },
        ]
      : []),
    ...(reused !== undefined && blindness(picture) !== undefined
      ? [
          {
            says: `Engines do find prompts in their caches (${percent(engineHits?.share ?? 0)}) where the router finds none: churn alone would leave both with nothing.`,
            origin: reused.origin,
            weight: 'weakens' as const,
          },
        ]
      : []),
    ...(decisions?.largestTreeSize === 0
      ? [
          {
            says: 'The tree of the router was empty at every decision; churn leaves blocks in it, at times.',
            origin: decisions.origin,
            weight: 'weakens' as const,
          },
        ]
      : []),
  ];
}
