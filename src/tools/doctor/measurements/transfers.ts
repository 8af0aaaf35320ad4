import type { Origin } from '../evidence.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { type MetricsPage, sumOf, sumOfWanted } from '../metrics/metrics-page.js';
import { type Measure, originOn, totalOf } from './measure.js';

/** What one engine counts of KV blocks that it receives or hands out. */
export interface TransferCounts {
  readonly page: MetricsPage;
  /** Prompt tokens whose blocks came from another engine. */
  readonly arrivedTokens: number;
  /** Prompt tokens that it computed itself. */
  readonly computedTokens: number;
  readonly failed: number;
  readonly expired: number;
  readonly requests: number;
  /**
   * What its requests say of its part: a prefill engine makes one token of
   * each, a decode engine more. Undefined with few requests.
   */
  readonly part: 'prefill' | 'decode' | undefined;
}

/** What transfers took. */
export interface TransferSpeed {
  readonly transfers: number;
  readonly bytesPerSecond: number;
  readonly bytesPerTransfer: number;
  readonly origin: Origin;
}

/** Requests below which nothing is said of an engine's part. */
const MIN_REQUESTS = 10;
/** Transfers below which a speed says nothing. */
const MIN_TRANSFERS = 10;

const READERS = KNOWN_PAGES.flatMap(({ transfers, sequenceTokens }) =>
  transfers === undefined ? [] : [{ transfers, answer: sequenceTokens?.answer }],
);

/** The counts of each page that has any of an engine that exchanges blocks. */
export function transfersOn(pages: readonly MetricsPage[]): readonly TransferCounts[] {
  return pages.flatMap((page) =>
    READERS.flatMap(({ transfers, answer }): readonly TransferCounts[] => {
      const { failed, expired, arrived, computed } = transfers;
      if (![...failed, ...expired].some((name) => sumOf(page, name) !== undefined)) return [];
      const total = (names: readonly string[]): number => totalOf(names, (name) => sumOf(page, name) ?? 0);
      const requests = answer === undefined ? 0 : (sumOf(page, `${answer}_count`) ?? 0);
      const answered = answer === undefined ? 0 : (sumOf(page, `${answer}_sum`) ?? 0);
      return [
        {
          page,
          arrivedTokens: sumOfWanted(page, arrived) ?? 0,
          computedTokens: sumOfWanted(page, computed) ?? 0,
          failed: total(failed),
          expired: total(expired),
          requests,
          part: requests < MIN_REQUESTS ? undefined : answered <= requests ? 'prefill' : 'decode',
        },
      ];
    }),
  );
}

/** One of the counts over all pages, with the page that has most of it; undefined where no page counts. */
export function transferTotal(
  counts: readonly TransferCounts[],
  of: 'failed' | 'expired' | 'arrivedTokens',
): Measure | undefined {
  const most = counts.reduce<TransferCounts | undefined>(
    (best, one) => (best === undefined || one[of] > best[of] ? one : best),
    undefined,
  );
  if (most === undefined) return undefined;
  const value = totalOf(counts, (one) => one[of]);
  return { value, origin: originOn(most.page, `${NAMES[of]} ${most[of]}`) };
}

const NAMES = {
  failed: 'transfers that failed:',
  expired: 'requests whose blocks expired:',
  arrivedTokens: 'prompt tokens from another engine:',
} as const;

/** The slowest of the pages that count enough transfers of a size at which a link's speed shows. */
export function slowestTransfers(
  pages: readonly MetricsPage[],
  minBytesPerTransfer: number,
): TransferSpeed | undefined {
  const speeds = pages.flatMap((page) =>
    READERS.flatMap(({ transfers: { bytes, seconds } }): readonly TransferSpeed[] => {
      if (bytes === undefined || seconds === undefined) return [];
      const moved = sumOf(page, `${bytes}_sum`) ?? 0;
      const transfers = sumOf(page, `${bytes}_count`) ?? 0;
      const took = sumOf(page, `${seconds}_sum`) ?? 0;
      if (transfers < MIN_TRANSFERS || took <= 0 || moved / transfers < minBytesPerTransfer) return [];
      const origin = originOn(page, `${bytes}_sum ${moved}, ${seconds}_sum ${took}`);
      return [{ transfers, bytesPerSecond: moved / took, bytesPerTransfer: moved / transfers, origin }];
    }),
  );
  return speeds.sort((a, b) => a.bytesPerSecond - b.bytesPerSecond)[0];
}
