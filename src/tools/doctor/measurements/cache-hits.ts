import type { PromptTokenCounters } from '../../../engines/descriptor/engine-pages.js';
import type { Origin } from '../evidence.js';
import { NOTHING_BELOW } from '../logs/engine-count.js';
import type { LogSummary } from '../logs/log-summary.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { type MetricsPage, sumOf, sumOfWanted, wantedText } from '../metrics/metrics-page.js';
import type { EndedHits } from './decision-course.js';
import type { DecisionSum } from './log-sums.js';
import { largestBy, originOn, sharesOn, totalOf } from './measure.js';
import { lookupsOf } from './router-lookups.js';

/** A share, 0 to 1, of how many, and where it was read. */
export interface Share {
  readonly share: number;
  readonly count: number;
  /** The same as a part of prompt tokens, where `share` is one of decisions; undefined where it is not known. */
  readonly tokens?: number;
  readonly origin: Origin;
}

/** How prompts were served from engines' caches. */
export interface EngineHits {
  /** 0 to 1. */
  readonly share: number;
  /** 0 when only the share was reported. */
  readonly cachedTokens: number;
  readonly promptTokens: number;
  readonly origin: Origin;
}

/** `82.0 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** What routers expected to be cached, and what engines had. */
export interface CacheHits {
  /** What the router expected to be cached, from each source that reports it. */
  readonly routerHits: readonly Share[];
  readonly engineHits: EngineHits | undefined;
}

/** From this many decisions on, "never" means something. */
export const MIN_DECISIONS = 10;
/** A router that finds more works, whatever else is so. */
const FINDS_FROM = 0.05;

/** A router that found nothing in ten or more decisions, by every source; undefined when one source says otherwise. */
export function blindness({ routerHits }: Pick<CacheHits, 'routerHits'>): Share | undefined {
  const enough = routerHits.filter(({ count }) => count >= MIN_DECISIONS);
  return routerHits.every(({ share }) => share < NOTHING_BELOW) ? enough[0] : undefined;
}

/** A router that finds blocks. */
export function findsBlocks({ routerHits }: Pick<CacheHits, 'routerHits'>): Share | undefined {
  return routerHits.find(({ share, count }) => share >= FINDS_FROM && count >= 2);
}

/** Decisions, however few, of which none found a block. */
export function noneFound({ routerHits }: Pick<CacheHits, 'routerHits'>): Share | undefined {
  return routerHits.every(({ share }) => share < NOTHING_BELOW) ? routerHits[0] : undefined;
}

/** An engine that had prompts in its cache. */
export function engineReuses({ engineHits }: Pick<CacheHits, 'engineHits'>): EngineHits | undefined {
  return engineHits !== undefined && engineHits.share >= NOTHING_BELOW ? engineHits : undefined;
}

/** Summaries of what routers expected to be cached of each prompt, 0 to 1. */
const HIT_SUMMARIES = KNOWN_PAGES.flatMap(({ routerHitRates = [] }) => routerHitRates);

/** Tokens of the largest block that is common, where no size of the router is known. */
const LARGEST_BLOCK = 256;

/**
 * What routers expected to be cached: by their metrics, then by the decisions in logs.
 * Where hits have ended, those before it and totals from the start say nothing of now.
 */
export function routerHitsOf(
  pages: readonly MetricsPage[],
  decisions: DecisionSum | undefined,
  ended: EndedHits | undefined,
  routerTokens: number | undefined,
): readonly Share[] {
  if (ended !== undefined)
    return [{ share: ended.found / ended.decisions, count: ended.decisions, origin: ended.origin }];
  const onPages = pages.flatMap((page) =>
    HIT_SUMMARIES.flatMap((name) => {
      const sum = sumOf(page, `${name}_sum`);
      const count = sumOf(page, `${name}_count`);
      if (sum === undefined || count === undefined || count <= 0) return [];
      const origin = originOn(page, `${name}_sum ${sum}, ${name}_count ${count}`);
      return [{ share: sum / count, count, origin }];
    }),
  );
  const lookups = lookupsOf(pages);
  if (decisions === undefined || decisions.reporting === 0) return [...onPages, ...lookups];
  const share = (decisions.reporting - decisions.withoutCache) / decisions.reporting;
  const tokens = tokenShareOf(decisions, routerTokens ?? LARGEST_BLOCK);
  const { reporting: count, origin } = decisions;
  return [...onPages, ...lookups, { share, count, origin, ...(tokens === undefined ? {} : { tokens }) }];
}

/** A block found is no prompt found: the part of prompt tokens, no less than what it is. */
function tokenShareOf(
  { cachedBlocks, reporting, prompts, promptTokens }: DecisionSum,
  tokensPerBlock: number,
): number | undefined {
  if (prompts < MIN_DECISIONS || promptTokens === 0) return undefined;
  // A request that is divided has two decisions, and a log may lack the ends of some.
  const blocks = cachedBlocks / Math.min(reporting, prompts);
  return Math.min(1, (blocks * tokensPerBlock) / (promptTokens / prompts));
}

/** What to compare with the part of tokens that engines had. */
export function comparable({ share, tokens }: Share): number {
  return tokens ?? share;
}

/** Counters of cached and of all prompt tokens, by what each program calls them; those of a whole fleet come first. */
const TOKEN_COUNTERS: readonly PromptTokenCounters[] = KNOWN_PAGES.flatMap(
  ({ promptTokens = [] }) => promptTokens,
).sort((a, b) => Number(b.isOfFleet === true) - Number(a.isOfFleet === true));
const HIT_GAUGES = KNOWN_PAGES.flatMap(({ hitGauges = [] }) => hitGauges);

/** Cached tokens of all prompt tokens at one place. */
interface TokenCount {
  readonly cached: number;
  readonly all: number;
  readonly origin: Origin;
}

/** What engines had in their caches, by the first source that reports it: token counters, logs, then gauges. */
export function engineHitsOf(
  pages: readonly MetricsPage[],
  logs: readonly LogSummary[],
  ended: EndedHits | undefined,
): EngineHits | undefined {
  if (ended !== undefined) return sinceOf(ended);
  for (const counters of TOKEN_COUNTERS) {
    const hits = hitsIn(pages.flatMap((page) => tokensOn(page, counters)));
    if (hits !== undefined) return hits;
  }
  return hitsInLogs(logs) ?? hitGauge(pages);
}

/** Where hits have ended, what engines had since then. */
function sinceOf({ promptTokens, cachedTokens, origin }: EndedHits): EngineHits | undefined {
  return promptTokens === 0
    ? undefined
    : { share: cachedTokens / promptTokens, cachedTokens, promptTokens, origin };
}

/** What one page counts of prompt tokens; nothing where it counts none. */
function tokensOn(page: MetricsPage, counters: PromptTokenCounters): readonly TokenCount[] {
  const found = sumOfWanted(page, counters.cached);
  const computed = sumOfWanted(page, counters.computed);
  // Where computed tokens are counted, none from the cache is no missing counter.
  const cached = found ?? (computed === undefined ? undefined : 0);
  if (cached === undefined) return [];
  const all = sumOfWanted(page, counters.all) ?? (computed === undefined ? undefined : cached + computed);
  if (all === undefined || all <= 0) return [];
  const text = counters.all === undefined ? `of ${all} in prefill` : `${wantedText(counters.all)} ${all}`;
  return [{ cached, all, origin: originOn(page, `${wantedText(counters.cached)} ${cached}, ${text}`) }];
}

function hitsIn(counts: readonly TokenCount[]): EngineHits | undefined {
  const [first] = counts;
  const promptTokens = totalOf(counts, ({ all }) => all);
  if (first === undefined || promptTokens <= 0) return undefined;
  const cachedTokens = totalOf(counts, ({ cached }) => cached);
  return { share: cachedTokens / promptTokens, cachedTokens, promptTokens, origin: first.origin };
}

function hitsInLogs(logs: readonly LogSummary[]): EngineHits | undefined {
  const hits = hitsIn(
    logs.flatMap(({ decisions, engine }) =>
      [
        { cached: decisions?.engineCachedTokens, all: decisions?.promptTokens, origin: decisions?.last },
        { cached: engine?.cachedTokens, all: engine?.promptTokens, origin: engine?.last },
      ].flatMap(({ cached = 0, all = 0, origin }) =>
        origin === undefined || all === 0 ? [] : [{ cached, all, origin }],
      ),
    ),
  );
  if (hits !== undefined) return hits;
  const engine = logs.find((log) => log.engine?.prefixHitRate !== undefined)?.engine;
  return engine?.prefixHitRate === undefined
    ? undefined
    : { share: engine.prefixHitRate.max, cachedTokens: 0, promptTokens: 0, origin: engine.last };
}

function hitGauge(pages: readonly MetricsPage[]): EngineHits | undefined {
  const best = largestBy(
    pages.flatMap((page) => sharesOn(page, HIT_GAUGES)),
    ({ value }) => value,
  );
  return best && { share: best.value, cachedTokens: 0, promptTokens: 0, origin: best.origin };
}
