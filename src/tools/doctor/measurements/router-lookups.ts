import type { RouterLookups } from '../../../engines/descriptor/engine-pages.js';
import type { Origin } from '../evidence.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { type MetricsPage, sumOfWanted, wantedText } from '../metrics/metrics-page.js';
import { largestBy, originOn } from './measure.js';

/** For which share of its lookups, 0 to 1, a router found something. */
export interface LookupShare {
  readonly share: number;
  readonly count: number;
  readonly origin: Origin;
}

const LOOKUPS = KNOWN_PAGES.flatMap(({ routerLookups = [] }) => routerLookups);
const GUESSES = KNOWN_PAGES.flatMap(({ guessedLookups = [] }) => guessedLookups);

/** What routers that know the caches of their engines found, by their counters. */
export function lookupsOf(pages: readonly MetricsPage[]): readonly LookupShare[] {
  return pages.flatMap((page) => LOOKUPS.flatMap((counters) => lookupsOn(page, counters) ?? []));
}

/** What routers that guess found of prompts; the one with the most prompts. */
export function guessedHitsOf(pages: readonly MetricsPage[]): LookupShare | undefined {
  const shares = pages.flatMap((page) => GUESSES.flatMap((counters) => lookupsOn(page, counters) ?? []));
  return largestBy(shares, ({ count }) => count);
}

/** Blocks that an index found in its lookups, where it counts no prompts; undefined where it found none. */
export function indexedBlocksOf(
  pages: readonly MetricsPage[],
): { readonly blocks: number; readonly lookups: number } | undefined {
  for (const page of pages)
    for (const { all, foundBlocks } of LOOKUPS) {
      const [blocks = 0, lookups = 0] = [sumOfWanted(page, foundBlocks), sumOfWanted(page, all)];
      if (blocks > 0 && lookups > 0) return { blocks, lookups };
    }
  return undefined;
}

/** What a router's counters say of the share of prompts with a prefix that it found; undefined where they do not. */
function lookupsOn(page: MetricsPage, counters: RouterLookups): LookupShare | undefined {
  const [found, missed, blocks] = [counters.found, counters.missed, counters.foundBlocks].map((wanted) =>
    sumOfWanted(page, wanted),
  );
  const all =
    sumOfWanted(page, counters.all) ??
    (found === undefined && missed === undefined ? undefined : (found ?? 0) + (missed ?? 0));
  if (all === undefined || all <= 0) return undefined;
  // Some blocks found in all lookups say nothing of how many lookups found one.
  if (counters.foundBlocks !== undefined && (blocks ?? 0) > 0) return undefined;
  const share = counters.foundBlocks !== undefined ? 0 : (found ?? all - (missed ?? 0)) / all;
  const parts = [counters.all, counters.found, counters.missed, counters.foundBlocks].flatMap((wanted) =>
    wanted === undefined ? [] : [`${wantedText(wanted)} ${sumOfWanted(page, wanted) ?? 0}`],
  );
  return { share: Math.min(1, Math.max(0, share)), count: all, origin: originOn(page, parts.join(', ')) };
}
