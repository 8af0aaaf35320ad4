import type { Clock } from '../../edge/platform/clock.js';

/**
 * How long a card stands that no worker renews. Dynamo's own lease is 10 s, and
 * its workers touch their files every 3.3 s; half of that more is for a worker
 * that is busy.
 */
export const LEASE_MS = 15_000;

/** One file as it was last seen changed. */
interface Lease {
  readonly modifiedAtMs: number;
  /** Monotonic; when that change was seen. */
  readonly seenAtMs: number;
  /** How old it was then. */
  readonly ageMs: number;
}

/**
 * Which files of Dynamo's discovery are still held. A worker that was killed
 * leaves its files behind; another process of Dynamo's deletes them, but where
 * none runs, as before the frontend is started, nobody does.
 *
 * Only the first look believes the file's own time: from then on it counts when
 * it changes, so that the clock of another machine does not matter.
 */
export class LeaseWatch {
  readonly #clock: Clock;
  #leases = new Map<string, Lease>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** Whether a file is held that is seen now, changed last at `modifiedAtMs` (wall clock). */
  isHeld(name: string, modifiedAtMs: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    let lease = this.#leases.get(name);
    if (lease?.modifiedAtMs !== modifiedAtMs) {
      const ageMs = lease === undefined ? Math.max(0, this.#clock.wallMs() - modifiedAtMs) : 0;
      lease = { modifiedAtMs, seenAtMs: nowMs, ageMs };
      this.#leases.set(name, lease);
    }
    return nowMs - lease.seenAtMs + lease.ageMs <= LEASE_MS;
  }

  /** Forgets all files but these. */
  keepOnly(names: readonly string[]): void {
    const kept = new Set(names);
    for (const name of this.#leases.keys()) if (!kept.has(name)) this.#leases.delete(name);
  }
}
