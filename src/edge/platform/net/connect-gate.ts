import type { Clock, Timer } from '../clock.js';

/**
 * Sessions that may be on their way to their sidecar at a time. Connecting is
 * bound by the processor (about 0.7 ms each in plaintext, several times that
 * with TLS): 64 keep it busy, and 4,000 together would only make the connect
 * time-out of the last ones run out while they wait for the first.
 */
const MAX_CONNECTING = 64;

/**
 * How long one session may hold its place. Sidecars that answer are through
 * long before; those that hang (a host that is down takes the whole connect
 * time-out) must not keep the healthy ones behind them waiting.
 */
const MAX_HOLD_MS = 500;

export interface ConnectGateOptions {
  /** How many may be on their way at a time. Default 64. */
  readonly maxConnecting?: number;
  /** Milliseconds for which one may hold its place. Default 500. */
  readonly maxHoldMs?: number;
}

/** What waits for its turn to connect. */
export interface Connecting {
  /** Its turn has come. */
  connect(): void;
}

/** Lets sessions connect in the order in which they came, a few at a time. */
export class ConnectGate {
  readonly #maxConnecting: number;
  readonly #maxHoldMs: number;
  readonly #clock: Clock;
  readonly #queue = new Set<Connecting>();
  readonly #inside = new Map<Connecting, Timer>();
  #isAdmitting = false;

  constructor(options: ConnectGateOptions, modules: { readonly clock: Clock }) {
    this.#maxHoldMs = options.maxHoldMs ?? MAX_HOLD_MS;
    this.#maxConnecting = options.maxConnecting ?? MAX_CONNECTING;
    this.#clock = modules.clock;
  }

  /** Sessions that wait for their turn. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Sessions that hold a place. */
  get connecting(): number {
    return this.#inside.size;
  }

  /** Calls `session.connect()` when its turn comes, which may be immediately. */
  enter(session: Connecting): void {
    this.#queue.add(session);
    this.#admit();
  }

  /** The session is through, has failed, or no longer wants to. Harmless when it holds nothing. */
  leave(session: Connecting): void {
    this.#queue.delete(session);
    const timer = this.#inside.get(session);
    if (timer === undefined) return;
    timer.clear();
    this.#inside.delete(session);
    this.#admit();
  }

  #admit(): void {
    // A session that fails immediately leaves from within `connect`: a loop instead of a recursion.
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    try {
      for (const session of this.#queue) {
        if (this.#inside.size >= this.#maxConnecting) break;
        this.#queue.delete(session);
        this.#inside.set(
          session,
          this.#clock.setTimer(this.#maxHoldMs, () => this.leave(session)),
        );
        session.connect();
      }
    } finally {
      this.#isAdmitting = false;
    }
  }
}
