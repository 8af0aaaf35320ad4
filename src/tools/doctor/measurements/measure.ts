import type { Origin } from '../evidence.js';
import type { MetricsPage } from '../metrics/metrics-page.js';

/** A number with where it was read. */
export interface Measure {
  readonly value: number;
  readonly origin: Origin;
}

/** Adds up one number of each entry. */
export function totalOf<T>(entries: readonly T[], numberOf: (entry: T) => number): number {
  return entries.reduce((sum, entry) => sum + numberOf(entry), 0);
}

/** The entry with the largest number, the first of several; undefined without entries. */
export function largestBy<T>(entries: readonly T[], numberOf: (entry: T) => number): T | undefined {
  return entries.reduce<T | undefined>(
    (best, entry) => (best === undefined || numberOf(entry) > numberOf(best) ? entry : best),
    undefined,
  );
}

/** A place on a metrics page. */
export function originOn({ name }: MetricsPage, text: string): Origin {
  return { place: name, text };
}

/** The samples of gauges that are shares, 0 to 1, with their names. */
export function sharesOn(page: MetricsPage, names: readonly string[]): readonly Measure[] {
  return names.flatMap((name) =>
    (page.samples.get(name) ?? [])
      .map(({ valueText }) => Number(valueText))
      .filter((value) => value >= 0 && value <= 1)
      .map((value) => ({ value, origin: originOn(page, `${name} ${value}`) })),
  );
}
