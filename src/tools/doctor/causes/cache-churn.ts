import { countOf } from '../../../core/text/lists.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import { FULL, isFullForOthers, isOverrun, loadOf, memoryFixes, tightest } from '../fixes/memory.js';
import { blindness, engineReuses, findsBlocks, percent } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse } from '../measurements/setting-values.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { allStores } from './routing-clues.js';

/** Removals for each store from which on the cache turns over. */
const TURNING = 0.8;
/** Fewer stores say nothing about a rate. */
const MANY_STORES = 50;
/** Below this use of the cache there was room. */
const ROOMY = 0.7;
/** So many readings of an engine that finds nothing with half of its cache free are no chance. */
const MANY_MISSES = 20;
/** Below this part of prompts what engines find is no prefix of a conversation. */
const FEW = 0.05;
/** Engines that still find this much do keep prefixes long enough. */
const ENOUGH = 0.2;

/** The cache turns over faster than conversations come back. */
export const cacheChurn: Cause = {
  id: 'cache_churn',
  concerns: () => true,
  contradictedBy: ({ engineHits }) =>
    when(engineHits !== undefined && engineHits.share >= ENOUGH && engineHits, ({ share, origin }) => ({
      says: `Engines had ${percent(share)} of prompts in their caches.`,
      origin,
    })),
  suspect(measurements: Measurements): Suspicion | undefined {
    const pressure = [
      ...preemptions(measurements),
      ...fullCache(measurements),
      ...queue(measurements),
      ...overload(measurements),
    ];
    const turnover = turnoverOf(measurements);
    const isBoth = pressure.length > 0 && turnover.length > 0;
    const hasProof = pressure.some(({ weight }) => weight === 'proof');
    const cluesFor: readonly ClueFor[] = [
      ...pressure,
      ...turnover.map(
        (clue): ClueFor => ({
          ...clue,
          weight: isBoth && !hasProof ? 'signature' : clue.weight,
        }),
      ),
    ];
    if (cluesFor.length === 0 || !isHarmful(measurements)) return undefined;
    const { stores } = measurements;
    const rate =
      stores === undefined || turnover.length === 0
        ? ''
        : `: ${stores.removed + stores.removeMissing} removals against ${allStores(stores)} stores`;
    return {
      headline: isOverrunAlone(measurements)
        ? `The KV cache is full: ${overrunText(measurements)}`
        : `The KV cache turns over faster than conversations come back${rate}`,
      explanation:
        'Running sequences take the blocks of prefixes that nobody uses at the moment. When a conversation comes back its blocks are gone, on every worker: the router is right to find nothing, and each turn is computed again.',
      cluesFor,
      cluesAgainst: against(measurements),
      explains: ['nothing_cached'],
      fixes: memoryFixes(measurements),
    };
  },
};

/** Churn is how a full cache works. It is a fault only where little is found. */
function isHarmful(measurements: Measurements): boolean {
  const { engineHits } = measurements;
  // Engines that keep nothing have no prefixes to lose.
  if (isCachingOff(measurements)) return preemptions(measurements).length > 0;
  if (engineHits !== undefined) {
    const isBrief = isFirstMinute(measurements) || isOneRequest(measurements);
    return engineHits.share < ENOUGH && (!isBrief || isSeenElsewhere(measurements));
  }
  const found = findsBlocks(measurements);
  if (found !== undefined) return found.share < ENOUGH;
  // Where nobody looked a prompt up, a full cache alone is one that is used; requests that wait for it have no room.
  // That all sequences at their longest would not fit is so of most engines, and of all that have just started.
  return isSeenElsewhere(measurements);
}

/** So few readings, one every ten seconds, are of a time in which each prompt is new. */
const FIRST_READINGS = 6;

/** Whether a cache that is full was seen for a minute at most. */
function isFirstMinute(measurements: Measurements): boolean {
  const { logs, metrics } = measurements.evidence;
  const readings = logs.reduce((sum, { engine }) => sum + (engine?.kvCacheUsage?.count ?? 0), 0);
  return metrics.length === 0 && readings > 0 && readings < FIRST_READINGS;
}

/** Whether a cache is full of one request at a time: nobody takes blocks away from another. */
function isOneRequest(measurements: Measurements): boolean {
  const { logs, metrics } = measurements.evidence;
  const running = logs.flatMap(({ engine }) => engine?.runningRequests ?? []);
  return metrics.length === 0 && running.length > 0 && running.every(({ max }) => max <= 1);
}

/** Whether something else than a full cache speaks of churn. */
function isSeenElsewhere(measurements: Measurements): boolean {
  return [preemptions, queue, turnoverOf].some((signOf) => signOf(measurements).length > 0);
}

/** Requests that are put back are seen, and of what becomes of prefixes nothing. */
function isOverrunAlone(measurements: Measurements): boolean {
  return (
    isOverrun(measurements) &&
    turnoverOf(measurements).length === 0 &&
    (measurements.engineHits === undefined ||
      measurements.engineHits.share < FEW ||
      isCachingOff(measurements)) &&
    measurements.decisions === undefined
  );
}

/** What a full cache does to requests. */
function overrunText({ preemptions: taken, concurrency }: Measurements): string {
  return taken !== undefined && taken.value > 0
    ? `running requests were taken off the GPU ${countOf(taken.value, 'time')}`
    : `${countOf(Math.round(concurrency?.waiting ?? 0), 'request')} waited for room in it`;
}

function isCachingOff(measurements: Measurements): boolean {
  const seen = measurements.runtimeSettings('prefix_caching').filter(({ side }) => side === 'worker');
  return seen.length > 0 && seen.every(({ value }) => isFalse(value));
}

function preemptions({ preemptions: taken }: Measurements): readonly ClueFor[] {
  return when(taken !== undefined && taken.value > 0 && taken, ({ value, origin }) =>
    clueFor(
      'sign',
      `Engines took running requests off the GPU because they ran out of blocks (${countOf(value, 'preemption')}).`,
      origin,
    ),
  );
}

function queue(measurements: Measurements): readonly ClueFor[] {
  const { concurrency } = measurements;
  const waiting = concurrency?.waiting ?? 0;
  return when(isFullForOthers(measurements) && waiting >= 1 && concurrency, ({ origin }) =>
    clueFor('sign', `${countOf(Math.round(waiting), 'request')} waited while the KV cache was full.`, origin),
  );
}

function fullCache({ kvUsage }: Measurements): readonly ClueFor[] {
  return when(kvUsage !== undefined && kvUsage.value >= FULL && kvUsage, ({ value, origin }) =>
    clueFor('sign', `Running sequences hold up to ${percent(value)} of the KV cache.`, origin),
  );
}

function overload(measurements: Measurements): readonly ClueFor[] {
  const memory = tightest(measurements.memory);
  const isFelt = (measurements.preemptions?.value ?? 0) > 0 || (measurements.kvUsage?.value ?? 0) >= FULL;
  return when(memory !== undefined && loadOf(memory) >= 1 && memory, (tight) =>
    clueFor(
      isFelt ? 'proof' : 'sign',
      `Sequences at their longest need ${tight.demandTokens} tokens, and the cache${tight.who === '' ? '' : ` of ${tight.who}`} has room for ${tight.capacityTokens}.`,
      tight.steps.flatMap(({ origins }) => origins)[0],
    ),
  );
}

function turnoverOf({ stores }: Measurements): readonly ClueFor[] {
  if (stores === undefined) return [];
  const stored = allStores(stores);
  const removed = stores.removed + stores.removeMissing;
  return when(stored >= MANY_STORES && removed >= stored * TURNING, () =>
    clueFor(
      'sign',
      `${removed} removals against ${stored} stores: nearly all that is stored is soon dropped again.`,
      stores.origin,
    ),
  );
}

function isRoomy(measurements: Measurements): boolean {
  const { kvUsage } = measurements;
  return kvUsage !== undefined && kvUsage.value < ROOMY && turnoverOf(measurements).length === 0;
}

function against(measurements: Measurements): readonly ClueAgainst[] {
  const { kvUsage, engineHits, decisions, missesWithRoom } = measurements;
  const foundNothing = engineHits === undefined || engineHits.share < FEW;
  return [
    ...when(
      foundNothing && missesWithRoom !== undefined && missesWithRoom.value >= MANY_MISSES && missesWithRoom,
      ({ value, origin }) =>
        clueAgainst(
          'refutes',
          `Prompts found nothing either while half of the KV cache and more was free (${countOf(value, 'line')}): they have no beginning in common.`,
          origin,
        ),
    ),
    // What running sequences hold: a cache of prefixes that is full is dropped from all the same.
    ...when(isRoomy(measurements) && kvUsage, ({ value, origin }) =>
      clueAgainst(
        'weakens',
        `At most ${percent(value)} of the KV cache was in use when it was measured.`,
        origin,
      ),
    ),
    ...when(blindness(measurements) !== undefined && engineReuses(measurements), ({ origin }) =>
      clueAgainst(
        'weakens',
        `Engines do find prompts in their caches (${percent(engineHits?.share ?? 0)}) where the router finds none: churn alone would leave both with nothing.`,
        origin,
      ),
    ),
    ...when(decisions?.largestTreeSize === 0 && decisions, ({ origin }) =>
      clueAgainst(
        'weakens',
        'The tree of the router was empty at every decision; churn leaves blocks in it at times.',
        origin,
      ),
    ),
  ];
}
