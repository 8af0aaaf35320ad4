import type { Address } from '../../edge/platform/address.js';
import type { Catalogue, GivenUrls } from '../../fleet/catalogue/catalogue.js';
import { reachableUrl } from '../../fleet/catalogue/reachable-url.js';
import type { RouterState } from './remote-router.js';

/**
 * What is served by a router elsewhere, as this process reaches it. An engine
 * that the router reaches over loopback is on the router's host. `given` are the
 * URLs of `--worker-urls`. While the router cannot be asked, nothing is ready,
 * and every model says why.
 */
export function reachedCatalogue(
  { served: { catalogue }, problem }: RouterState,
  { router, given }: { readonly router: Address; readonly given: GivenUrls },
): Catalogue {
  // The code is for routers, who know theirs; what is shown is the text.
  const reasons = problem === undefined ? undefined : [{ code: 'no_workers' as const, text: problem }];
  return {
    ...catalogue,
    reasons: reasons ?? catalogue.reasons,
    groups: catalogue.groups.map((group) => ({
      ...group,
      isReady: group.isReady && reasons === undefined,
      reasons: reasons ?? group.reasons,
      workers: group.workers.map((worker) => ({
        ...worker,
        baseUrl:
          given.get(worker.target) ??
          (worker.baseUrl === undefined ? undefined : reachableUrl(worker.baseUrl, router.text)),
      })),
    })),
  };
}
