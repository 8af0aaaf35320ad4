import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import type { ChannelListener } from './sessions/session-listener.js';

/** What lives on a fleet's workers beside the agreement. */
export interface FleetCompanion extends ChannelListener {
  /** Members that it brings itself, which have no sidecar: discovery's list is given with them, and it reports of them. */
  readonly targets: readonly string[];
  /** What discovery knows of one of these, at every change; undefined from when it lists it no longer. */
  onDiscovered?(target: string, discovered: DiscoveredWorker | undefined): void;
}
