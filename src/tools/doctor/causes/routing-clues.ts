import { countOf } from '../../../core/text/lists.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import type { SettingSighting } from '../evidence.js';
import {
  blindness,
  comparable,
  engineReuses,
  findsBlocks,
  MIN_DECISIONS,
  percent,
} from '../measurements/cache-hits.js';
import type { StoreCounts } from '../measurements/counters.js';
import { enginesNumber, routersOwnNumber } from '../measurements/known-sizes.js';
import type { DecisionSum } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse, isTrue } from '../measurements/setting-values.js';
import { clueAgainst, clueFor, when } from './clues.js';

/** Of fewer decisions an empty index says nothing: the first is always one. */
const FEW_DECISIONS = 3;
/** Stores of a prompt come with its prefill: after so long they have arrived, if ever. */
const ARRIVE_WITHIN_MS = 10_000;

/** A router that finds blocks speaks against whatever would blind it. */
export function workingRouter(measurements: Measurements): readonly ClueAgainst[] {
  return when(findsBlocks(measurements), ({ share, count, origin }) =>
    clueAgainst(
      'refutes',
      `The router finds blocks: ${percent(share)} over ${countOf(count, 'decision')}.`,
      origin,
    ),
  );
}

/** Whether a router finds nearly what the engines have: at least `part` of it, where that is known. */
export function closeRouter(measurements: Measurements, part: number): ReturnType<typeof findsBlocks> {
  const found = findsBlocks(measurements);
  const { engineHits } = measurements;
  const isClose =
    found !== undefined && (engineHits === undefined || comparable(found) >= engineHits.share * part);
  return isClose ? found : undefined;
}

/** The router finds nothing, and the engines had it: the plainest outside sign that the router cannot see what is there. */
export function blindRouter(measurements: Measurements, weight: ClueFor['weight']): readonly ClueFor[] {
  return when(blindness(measurements), (blind) => [
    clueFor(
      'sign',
      `The router found no cached block in ${countOf(blind.count, 'decision')}${sinceWhen(measurements)}.`,
      blind.origin,
      'router_blind',
    ),
    ...when(engineReuses(measurements), ({ share, promptTokens, cachedTokens, origin }) =>
      clueFor(
        weight,
        promptTokens === 0
          ? `Engines had up to ${percent(share)} of prompts in their caches.`
          : `Engines had ${cachedTokens} of ${promptTokens} prompt tokens in their caches (${percent(share)}): what the router looks for is there, and the router cannot see it.`,
        origin,
        'router_blind',
      ),
    ),
  ]);
}

/** ` since 2026-10-02T10:21:36Z; before, …`, where hits have ended. */
function sinceWhen({ ended }: Measurements): string {
  return ended === undefined
    ? ''
    : ` since ${new Date(ended.sinceMs).toISOString()}; before, ${percent(ended.before)} of decisions found one`;
}

/** Which part of the workers whose block size was seen some are, 0 to 1; 1 when nobody is named. */
export function partOfWorkers({ sizes }: Measurements, workers: readonly string[]): number {
  const all = new Set(sizes.rows.filter(({ side }) => side === 'worker').map(({ who }) => who));
  const named = new Set(workers.filter((who) => all.has(who)));
  return named.size === 0 ? 1 : named.size / all.size;
}

/** Stores that reached the router, with a known parent or without. */
export function allStores({ applied, parentMissing }: StoreCounts): number {
  return applied + parentMissing;
}

/** Share of stores whose parent the router did not know, by counters; undefined without any. */
export function missingShare({ stores }: Measurements): number | undefined {
  return stores === undefined || allStores(stores) === 0
    ? undefined
    : stores.parentMissing / allStores(stores);
}

/** The router did not know the parents of some stores: `… of 33 of 48 stores (68.8 %)`, and what `rest` adds. */
export function missingParentsClue(stores: StoreCounts, weight: ClueFor['weight'], rest: string): ClueFor {
  const all = allStores(stores);
  return clueFor(
    weight,
    `The router did not know the parents of ${stores.parentMissing} of ${all} stores (${percent(stores.parentMissing / all)})${rest}.`,
    stores.origin,
    'parents_missing',
  );
}

/** Stores that arrived, against causes by which none would. */
export function arrivedStores(
  { stores }: Measurements,
  weight: ClueAgainst['weight'],
): readonly ClueAgainst[] {
  return when(stores !== undefined && allStores(stores) > 0 && stores, (arrived) =>
    clueAgainst(weight, `${countOf(allStores(arrived), 'store')} reached the router.`, arrived.origin),
  );
}

/** Router and engines were seen with one block size; `at` is the place to name: 0 the router's, 1 the engine's. */
export function sameSize({ sizes }: Measurements, at: 0 | 1 = 0): readonly ClueAgainst[] {
  return when(sizes.agreed, ({ tokensPerBlock, origins }) =>
    clueAgainst('refutes', `Router and engines use the same block size, ${tokensPerBlock}.`, origins[at]),
  );
}

/** ` (the router uses 16)`, ` (the engines use 32)`, where one number of a side was seen. */
export function knownNumber(measurements: Measurements): string {
  const [router, engines] = [routersOwnNumber(measurements), enginesNumber(measurements)];
  if (router !== undefined) return ` (the router uses ${router})`;
  return engines === undefined ? '' : ` (the engines use ${engines})`;
}

/** Workers that are configured to publish their KV events. */
export function publishers(measurements: Measurements): readonly SettingSighting[] {
  return measurements
    .settings('publishes_kv_events')
    .filter(({ side, value }) => side === 'worker' && isTrue(value));
}

/** Requests were served, and no store ever came; empty when stores came, when nothing reports them, or when no prompt has a whole block. */
export function noStores(measurements: Measurements): readonly ClueFor[] {
  const { stores, decisions, short } = measurements;
  if (isDeaf(measurements) || short !== undefined) return [];
  const served = mostDecisions(measurements);
  if (stores !== undefined)
    return when(allStores(stores) === 0 && served >= MIN_DECISIONS, () =>
      clueFor(
        'signature',
        `The router got no store at all while it served ${countOf(served, 'request')}.`,
        stores.origin,
        'no_stores',
      ),
    );
  const hasWarnings =
    measurements.signal('parent_block_not_found') !== undefined ||
    measurements.signal('block_to_remove_not_found') !== undefined;
  const isEmpty = decisions?.largestTreeSize === 0 && isLongEnough(decisions) && !hasWarnings;
  return when(isEmpty && decisions, ({ reporting, origin }) =>
    clueFor(
      'sign',
      `"tree size: 0" in all of ${countOf(reporting, 'decision')}, and no warning of a store that failed: no store seems to arrive.`,
      origin,
      'no_stores',
    ),
  );
}

/** Whether stores of the first prompts had their time to arrive: many decisions, or some of whole blocks over a while. */
function isLongEnough({ reporting, lastedMs, loadBlocks }: DecisionSum): boolean {
  const isWhile = reporting >= FEW_DECISIONS && lastedMs >= ARRIVE_WITHIN_MS;
  return reporting >= MIN_DECISIONS || (isWhile && loadBlocks !== undefined && loadBlocks >= 1);
}

/** Decisions by the source that counts the most. */
export function mostDecisions({ routerHits }: Measurements): number {
  return Math.max(0, ...routerHits.map(({ count }) => count));
}

/** A router that is configured not to read events gets none, and that is no fault of those who publish. */
export function isDeaf({ settings, evidence }: Measurements): boolean {
  return (
    settings('router_uses_events').some(({ value }) => isFalse(value)) ||
    evidence.findings.some(({ ruleId }) => ruleId === 'events-ignored')
  );
}

/** Stores without any fault, no hit, and an engine that reuses. */
export function silence(measurements: Measurements): readonly ClueFor[] {
  const { stores } = measurements;
  const share = missingShare(measurements);
  const isSilent =
    share !== undefined &&
    share < 0.01 &&
    measurements.signal('parent_block_not_found') === undefined &&
    blindness(measurements) !== undefined &&
    engineReuses(measurements) !== undefined;
  return when(isSilent && stores, ({ applied, origin }) => [
    ...blindRouter(measurements, 'signature'),
    clueFor(
      'sign',
      `The router applied ${countOf(applied, 'store')} and missed no parent: events arrive whole.`,
      origin,
      'router_blind',
    ),
  ]);
}

/** Whether the router has an index with a block size in its own settings: no worker registers one for it. */
export function hasOwnIndex({ dynamo, kvAccord, others }: Measurements['seen']): boolean {
  return !dynamo && !kvAccord && others.some(({ role }) => role === 'router');
}

/** The same of such an index. */
export function silentIndex(measurements: Measurements): readonly ClueFor[] {
  if (!hasOwnIndex(measurements.seen) || silence(measurements).length === 0) return [];
  return when(measurements.stores, ({ applied, origin }) =>
    clueFor(
      'signature',
      `${countOf(applied, 'KV event', 'KV events')} reached the router, and its index found no block.`,
      origin,
      'router_blind',
    ),
  );
}
