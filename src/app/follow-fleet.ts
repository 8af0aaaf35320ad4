import { readinessChecks } from '../core/agreement/view/readiness.js';
import type { FleetView } from '../core/agreement/view/snapshot.js';
import type { ProbeCheck } from '../edge/http/probe-board.js';
import type { Logger } from '../edge/platform/logger.js';
import { buildCatalogue, type Catalogue, type GivenUrls } from '../fleet/catalogue/catalogue.js';
import { conflictLogger } from '../frontend/gateway/conflict-log.js';
import { frontendChecks } from '../frontend/gateway/readiness.js';

/** What a fleet serves, and whether requests can be taken. */
export interface ServedFleet {
  readonly catalogue: Catalogue;
  /** Of `/readyz`. */
  readonly checks: readonly ProbeCheck[];
}

/** A fleet whose views can be followed; `FleetRunner` is one. */
export interface FollowedFleet {
  readonly view: FleetView;
  /** Calls `onView` at each new view, until what it returns is called. */
  listen(listener: { readonly onView: (view: FleetView) => void }): () => void;
}

/**
 * Calls `onServed` with what a fleet serves, immediately and at every change;
 * conflicts over names are logged. Ends when what it returns is called.
 */
export function followFleet(
  fleet: FollowedFleet,
  given: GivenUrls,
  { logger }: { readonly logger: Logger },
  onServed: (served: ServedFleet) => void,
): () => void {
  const logConflicts = conflictLogger(logger);
  const show = (view: FleetView): void => {
    const catalogue = buildCatalogue(view, given);
    logConflicts(catalogue);
    onServed({ catalogue, checks: frontendChecks(readinessChecks(view), catalogue) });
  };
  show(fleet.view);
  return fleet.listen({ onView: show });
}
