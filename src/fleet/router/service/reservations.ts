import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { Random } from '../../../edge/platform/random.js';
import type { ActiveRoute } from '../active-route.js';

/** One step of the time that leases are counted in. */
const TICK_MS = 1_000;

/** Bounds of what clients reserve over gRPC. */
export interface ReservationLimits {
  /** Default 100,000: more than all engines of a large fleet run at a time. */
  readonly maxReservations?: number;
  /** Prompt blocks of all reservations together, of which 8 bytes each are kept. Default 16 Mi. */
  readonly maxBlocks?: number;
}

const DEFAULT_MAX_RESERVATIONS = 100_000;
const DEFAULT_MAX_BLOCKS = 16 * 1024 * 1024;

interface Reserved {
  readonly route: ActiveRoute;
  readonly leaseTicks: number;
  /** The tick at which it ends if nothing is heard. */
  endsAt: number;
  /** The tick at which it is looked at next. */
  lookAt: number;
}

/**
 * Requests that are reserved over gRPC, by ids that cannot be guessed. Each has
 * a lease: the caller that reserved it may be gone. Ticks are counted in place of
 * reading a clock, so that a process that was stopped for a while does not end
 * what it could not hear of.
 */
export class Reservations {
  readonly #modules: { readonly clock: Clock; readonly random: Random };
  readonly #maxReservations: number;
  readonly #maxBlocks: number;
  readonly #reserved = new Map<string, Reserved>();
  /** Who may end at a tick; those that were heard of since are looked at again later. */
  readonly #due = new Map<number, Set<Reserved>>();
  /** Those that last as long as the stream on which they were asked for. */
  #attached = 0;
  #blocks = 0;
  #tick = 0;
  #expired = 0;
  #timer: Timer | undefined;

  constructor(limits: ReservationLimits, modules: { readonly clock: Clock; readonly random: Random }) {
    this.#modules = modules;
    this.#maxReservations = limits.maxReservations ?? DEFAULT_MAX_RESERVATIONS;
    this.#maxBlocks = limits.maxBlocks ?? DEFAULT_MAX_BLOCKS;
  }

  /** How many are open. */
  get size(): number {
    return this.#reserved.size;
  }

  /** How many have ended because nothing was heard. */
  get expired(): number {
    return this.#expired;
  }

  /** Why there is no room for another; undefined when there is. */
  get fullMessage(): string | undefined {
    if (this.#reserved.size + this.#attached >= this.#maxReservations)
      return `${this.#maxReservations} reservations are open, which is the most; release those that are over`;
    if (this.#blocks >= this.#maxBlocks)
      return `the open reservations have ${this.#maxBlocks} prompt blocks, which is the most; release those that are over`;
    return undefined;
  }

  /** Takes a request that was just reserved; comes back with its id. `leaseSeconds` is at least 1. */
  add(route: ActiveRoute, leaseSeconds: number): string {
    const id = this.#modules.random.uniqueId();
    // The running tick is part over already.
    const leaseTicks = leaseSeconds + 1;
    const endsAt = this.#tick + leaseTicks;
    const reserved: Reserved = { route, leaseTicks, endsAt, lookAt: endsAt };
    this.#reserved.set(id, reserved);
    this.#blocks += route.decision.promptBlocks;
    this.#look(reserved);
    route.onEnded = () => {
      this.#reserved.delete(id);
      this.#blocks -= route.decision.promptBlocks;
      const due = this.#due.get(reserved.lookAt);
      if (due?.delete(reserved) && due.size === 0) this.#due.delete(reserved.lookAt);
      if (this.#reserved.size > 0) return;
      this.#timer?.clear();
      this.#timer = undefined;
    };
    this.#timer ??= this.#modules.clock.setTimer(TICK_MS, this.#onTick);
    return id;
  }

  /** Counts a request that was just reserved on a stream, for as long as it is active: it has no lease and no id. */
  addAttached(route: ActiveRoute): void {
    this.#attached += 1;
    this.#blocks += route.decision.promptBlocks;
    route.onEnded = () => {
      this.#attached -= 1;
      this.#blocks -= route.decision.promptBlocks;
    };
  }

  /** The request of an id that is still open; it counts as heard of. */
  find(id: string): ActiveRoute | undefined {
    const reserved = this.#reserved.get(id);
    if (reserved !== undefined) reserved.endsAt = this.#tick + reserved.leaseTicks;
    return reserved?.route;
  }

  /** Ends all. */
  close(): void {
    for (const { route } of this.#reserved.values()) route.release();
  }

  #look(reserved: Reserved): void {
    const due = this.#due.get(reserved.lookAt);
    if (due === undefined) this.#due.set(reserved.lookAt, new Set([reserved]));
    else due.add(reserved);
  }

  readonly #onTick = (): void => {
    this.#timer = this.#modules.clock.setTimer(TICK_MS, this.#onTick);
    this.#tick += 1;
    const due = this.#due.get(this.#tick);
    if (due === undefined) return;
    this.#due.delete(this.#tick);
    for (const reserved of due) {
      if (reserved.endsAt > this.#tick) {
        reserved.lookAt = reserved.endsAt;
        this.#look(reserved);
        continue;
      }
      this.#expired += 1;
      reserved.route.release();
    }
  };
}
