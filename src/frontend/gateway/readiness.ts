import type { ReadinessCheck } from '../../core/agreement/view/readiness.js';
import type { Catalogue, CatalogueGroup } from '../../fleet/catalogue/catalogue.js';

/** Whether requests for a model can be sent to a worker: its gate is open, and the address of a worker is known. */
export function isServable({ isReady, workers }: CatalogueGroup): boolean {
  return isReady && workers.some(({ isOffered, baseUrl }) => isOffered && baseUrl !== undefined);
}

/**
 * The aggregator's checks, and what a frontend needs beside them. Here too one
 * model that can be served is enough.
 */
export function frontendChecks(
  checks: readonly ReadinessCheck[],
  { groups }: Catalogue,
): readonly ReadinessCheck[] {
  const isReady = groups.some(isServable);
  const lost = groups.filter((group) => group.isReady && !isServable(group));
  return [
    ...checks,
    ...lost.map(({ group }) => ({
      name: `workers:${group}`,
      ok: isReady,
      text: "no address of any worker's OpenAI server is known; --worker-urls gives them",
    })),
  ];
}
