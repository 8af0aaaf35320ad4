import type { Clue } from '../diagnosis.js';
import { type MetricsPage, sumOf } from '../metrics/metrics-page.js';
import { type CacheHits, comparable, findsBlocks, MIN_DECISIONS, percent } from './cache-hits.js';

const DOUBTED = 'kv_accord_router_worker_doubted';
const OVER = 'kv_accord_router_worker_over_predicted_tokens_total';
const UNDER = 'kv_accord_router_worker_under_predicted_tokens_total';
const PREDICTED = 'kv_accord_router_worker_predicted_cached_tokens_total';
const REPORTED = 'kv_accord_router_worker_reported_cached_tokens_total';

/** Part of a worker's tokens that nothing known explains, from which on there is a gap, as the router has it. */
const GAP_PART = 0.05;
/** Fewer reported tokens prove nothing. */
const MANY_TOKENS = 1_000;

/**
 * A router that finds about what engines have, over ten decisions and more.
 * `concerned` is the part of the workers that a fault is said of: had they been
 * of no use, that part of the hits would be missing, of which half is left to
 * chance. Without what engines had, it counts only against a fault of all workers.
 */
export function findsWhatEnginesHave(
  measurements: CacheHits,
  { concerned = 1, part = 1 - concerned / 2 }: { readonly concerned?: number; readonly part?: number } = {},
): readonly Clue[] {
  const found = findsBlocks(measurements);
  const { engineHits } = measurements;
  if (found === undefined || found.count < MIN_DECISIONS) return [];
  if (engineHits === undefined ? concerned < 1 || part > 0.5 : comparable(found) < engineHits.share * part)
    return [];
  const engines = engineHits === undefined ? '' : `, and engines had ${percent(engineHits.share)}`;
  return [
    {
      says: `The router found ${percent(found.share)} over ${found.count} decisions${engines}: it finds what is there.`,
      origin: found.origin,
    },
  ];
}

/** What kv-accord's router predicted of a worker's cache, and what its engine reported. */
export interface WorkerResults {
  readonly worker: string;
  readonly page: MetricsPage;
  readonly predicted: number;
  readonly reported: number;
  readonly over: number;
  readonly under: number;
  readonly isDoubted: boolean;
  /** Whether a part of its tokens is not explained. */
  readonly hasGap: boolean;
}

/** The results of each worker on each page that has them. */
export function workerResults(pages: readonly MetricsPage[]): readonly WorkerResults[] {
  return pages.flatMap((page) => {
    const workers = new Set(
      (page.samples.get(DOUBTED) ?? []).map(({ labels }) => labels.get('worker') ?? ''),
    );
    return [...workers].map((worker): WorkerResults => {
      const of = (name: string): number => sumOf(page, name, { worker }) ?? 0;
      const [predicted, reported, over, under] = [of(PREDICTED), of(REPORTED), of(OVER), of(UNDER)];
      const hasGap = over + under >= GAP_PART * Math.max(1, predicted, reported);
      return { worker, page, predicted, reported, over, under, isDoubted: of(DOUBTED) > 0, hasGap };
    });
  });
}

/** Results that came true for all of some workers; nothing when one of them has none, too few or others. */
export function resultsComeTrue(pages: readonly MetricsPage[], workers: readonly string[]): readonly Clue[] {
  const results = workerResults(pages);
  const clues = workers.map((worker): Clue | undefined => {
    const own = results.filter((one) => one.worker === worker);
    const [first] = own;
    const isTrue = own.every(
      ({ isDoubted, hasGap, predicted, reported }) =>
        !isDoubted && !hasGap && Math.min(predicted, reported) >= MANY_TOKENS,
    );
    if (first === undefined || !isTrue) return undefined;
    return {
      says: `${worker}: ${first.predicted} cached tokens were predicted and ${first.reported} reported; what kv-accord expects of it comes true.`,
      origin: { place: first.page.name, text: `${REPORTED}{worker="${worker}"} ${first.reported}` },
    };
  });
  return clues.every((clue) => clue !== undefined) ? clues : [];
}

/** The name of the gauge that marks a doubted worker, for origins. */
export const DOUBTED_GAUGE: string = DOUBTED;
