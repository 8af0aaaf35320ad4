import { RecentDecisions } from './recent-decisions.js';
import { type Bucket, RoutingHistory } from './routing-history.js';
import { type NewEntry, Timeline } from './timeline.js';
import { VIEW_LIMITS } from './view-document.js';

/**
 * What happened to a fleet, kept in memory with bounds: 1,000 entries, 15 minutes of routing of each of at most 200
 * models, 50 decisions. Time comes in with each call, in milliseconds since 1970.
 */
export class FleetHistory {
  readonly timeline: Timeline = new Timeline();
  readonly decisions: RecentDecisions = new RecentDecisions();
  readonly #routing = new Map<string, RoutingHistory>();
  readonly #now: () => number;

  constructor(modules: { readonly now: () => number }) {
    this.#now = modules.now;
  }

  /** Milliseconds since 1970 that never go back. */
  get nowMs(): number {
    return this.#now();
  }

  /** By model. */
  get routing(): ReadonlyMap<string, RoutingHistory> {
    return this.#routing;
  }

  /** Adds an entry of this moment. */
  note(entry: NewEntry): void {
    this.timeline.add(entry, this.nowMs);
  }

  /** The bucket of this moment; undefined for models beyond the bound. */
  bucketOf(group: string): Bucket | undefined {
    let routing = this.#routing.get(group);
    if (routing === undefined) {
      if (this.#routing.size >= VIEW_LIMITS.models) return undefined;
      routing = new RoutingHistory(group);
      this.#routing.set(group, routing);
    }
    return routing.at(this.nowMs);
  }

  /** A model is served no longer. */
  endGroup(group: string): void {
    this.#routing.delete(group);
  }
}
