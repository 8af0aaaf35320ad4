import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';

/** How many workers there are to be. */
export interface ExpectedWorkers {
  readonly count: number;
  /** What says so, for messages: `Deployment worker`. */
  readonly origin: string;
}

/** A port of a pool at which a worker takes requests. */
export interface ServedPort {
  /** Its place in the pool's `targetPorts`, from 0: the data-parallel rank behind it, where one worker has several. */
  readonly rank: number;
  /** `IP:PORT`, as gateways are answered. */
  readonly address: string;
}

/** One worker as discovery lists it. */
export interface Endpoint {
  /** Stable name of the member, unique in the fleet: what people see. */
  readonly target: string;
  /** Where to dial its sidecar: `HOST:PORT`, `[::1]:PORT` or `unix:/path`; absent when it has none, and then it has `report`, or not yet, and then it has `pending`. */
  readonly address?: string;
  /**
   * What distinguishes this worker from another one that had its name before (a pod's
   * uid); absent where the source does not know. A target that comes with another
   * one is another member, of which nothing is known.
   */
  readonly identity?: string;
  /** Why there is no address yet although there will be one, for messages: `its pod is Pending`. */
  readonly pending?: string;
  /** True while the platform has no machine for it (a pod that is not scheduled): it can have no block size (A12). */
  readonly unscheduled?: boolean;
  /** What is reported of a worker without a sidecar. */
  readonly discovered?: DiscoveredWorker;
  /** Where gateways reach it, by its pool; absent where no pool says, or while it has no address. */
  readonly serves?: readonly ServedPort[];
  /** True while the platform is taking it away (a terminating pod). */
  readonly draining?: boolean;
}

/** Whether a source of discovery works. */
export interface SourceHealth {
  /** What it was made from, such as `dns:///workers:50061`. */
  readonly name: string;
  /** Whether its last round went well; false before the first. */
  readonly isUp: boolean;
}

/**
 * Finds the sidecars of a fleet. To add a source is to add one file here, to
 * name its target form in `parse-target.ts`, and to make it in `create-source.ts`.
 */
export interface DiscoverySource {
  /** What it was made from, such as `dns:///workers:50061`. */
  readonly name: string;
  /** True when the list never changes: agreement then need not wait for it to settle (A3). */
  readonly isStatic: boolean;
  /**
   * Runs until `signal` aborts. Calls `onList` with the full list immediately and
   * at every change; calls `onError` when a round failed, keeps the last list,
   * and tries again. The first round that goes well afterwards calls `onList`
   * even when the list is the same: that is how others learn that the failure
   * is over. A problem of a list that is given is reported before it. `expected` is how many members there are to be, by what
   * the platform was asked for (`--min-workers auto`); undefined when the
   * source is not asked for it.
   */
  run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void,
    onError: (error: Error) => void,
  ): Promise<void>;

  /** The sources that it is made of, where there are several; by default it is one. */
  health?(): readonly SourceHealth[];
}
