import { onOneLine } from '../../../core/text/printable.js';
import type { ProbeCheck } from '../../../edge/http/probe-board.js';
import type { Clock } from '../../../edge/platform/clock.js';
import {
  ReportOfferRequest_Offer as Offer,
  type ReportOfferRequest,
} from '../../../gen/kvaccord/v1/capabilities.js';

/** How long the word of a frontend holds: three times the interval at which it repeats it. */
const WORD_HOLDS_MS = 60_000;

/**
 * How long a worker with a complete report waits for a frontend to decide,
 * from the first time that a client asks: frontends report nothing before. It
 * is longer than a frontend's restart takes; after it the worker counts as
 * ready, for where no gate is open no worker can be offered, and an operator who starts
 * workers one after the other would wait for ever.
 */
const DECISION_WAIT_MS = 60_000;

/** Frontends whose words are kept; each has a watch open or had one within `WORD_HOLDS_MS`. */
const MAX_FRONTENDS = 1_000;

/** What is kept of a reason. */
const MAX_REASON_CHARS = 512;

interface Frontend {
  watches: number;
  /** The last decision and the engine start that it is about; undefined before the first. */
  decision: { readonly isOffered: boolean; readonly instanceId: string; readonly reason: string } | undefined;
  heardAtMs: number;
}

/** What the worker's report is now, as far as it counts here. */
export interface OfferedReport {
  readonly instanceId: string;
  readonly isComplete: boolean;
}

/**
 * What frontends say of this worker: whether they offer it. A worker that one
 * of them keeps out is not ready to take another's place in a rolling change.
 */
export class OfferBoard {
  readonly #clock: Clock;
  readonly #frontends = new Map<string, Frontend>();
  /** Since when the report of this engine start is complete. */
  #complete: { readonly instanceId: string; readonly sinceMs: number } | undefined;
  /** Since when a client asks `/readyz?offered`; undefined before the first time. */
  #askedSinceMs: number | undefined;
  /** Watches to be notified of the first time. */
  readonly #unasked = new Set<() => void>();

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** Whether a client asks; it stays so for the life of the process, for a probe that asked once asks again. */
  get isAsked(): boolean {
    return this.#askedSinceMs !== undefined;
  }

  /**
   * A frontend watches; the function that comes back says that it stopped.
   * `onAsked` is called when a client asks for the first time after this.
   */
  watch(frontendId: string, onAsked: () => void): () => void {
    this.#prune();
    const frontend = this.#frontends.get(frontendId) ?? { watches: 0, decision: undefined, heardAtMs: 0 };
    if (this.#frontends.size >= MAX_FRONTENDS && !this.#frontends.has(frontendId)) return () => {};
    this.#frontends.set(frontendId, frontend);
    frontend.watches += 1;
    if (!this.isAsked) this.#unasked.add(onAsked);
    return () => {
      frontend.watches -= 1;
      this.#unasked.delete(onAsked);
    };
  }

  /** A frontend reports; false when it has no watch. `OFFER_UNDECIDED` leaves its last decision as it is, until that is too old. */
  report({ frontendId, instanceId, offer, reason }: ReportOfferRequest): boolean {
    const frontend = this.#frontends.get(frontendId);
    if (frontend === undefined || frontend.watches < 1) return false;
    if (offer === Offer.UNDECIDED) return true;
    frontend.heardAtMs = this.#clock.monotonicMs();
    frontend.decision = {
      isOffered: offer === Offer.OFFERED,
      instanceId,
      reason: onOneLine(reason, MAX_REASON_CHARS),
    };
    return true;
  }

  /** To be called at every report, so that it is known since when it is complete. */
  setReport({ instanceId, isComplete }: OfferedReport): void {
    if (!isComplete) this.#complete = undefined;
    else if (this.#complete?.instanceId !== instanceId)
      this.#complete = { instanceId, sinceMs: this.#clock.monotonicMs() };
  }

  /** Whether this worker may take another's place now. Asking for it has frontends report from now on. */
  check(): ProbeCheck {
    const name = 'offered';
    const nowMs = this.#clock.monotonicMs();
    const askedSinceMs = this.#askedSinceMs ?? this.#beAsked(nowMs);
    if (this.#complete === undefined)
      return { name, ok: false, text: 'the report is not complete: nobody can offer this worker yet' };
    const { instanceId, sinceMs } = this.#complete;
    this.#prune();
    const decisions = [...this.#frontends.values()].flatMap(({ decision }) =>
      decision?.instanceId === instanceId ? [decision] : [],
    );
    const against = decisions.filter(({ isOffered }) => !isOffered);
    const [first] = against;
    if (first !== undefined) {
      const text = `${against.length} of ${decisions.length} frontends keep this worker out: ${first.reason}`;
      return { name, ok: false, text };
    }
    if (decisions.length > 0) return { name, ok: true, text: `by ${decisions.length} frontends` };
    const leftMs = Math.max(sinceMs, askedSinceMs) + DECISION_WAIT_MS - nowMs;
    if (leftMs > 0) {
      const text = `no frontend has decided yet; without one it counts as ready in ${Math.ceil(leftMs / 1_000)} s`;
      return { name, ok: false, text };
    }
    const waited = `no frontend decided within ${DECISION_WAIT_MS / 1_000} s: none watches, or no gate is open`;
    return { name, ok: true, text: waited };
  }

  #beAsked(nowMs: number): number {
    this.#askedSinceMs = nowMs;
    const watches = [...this.#unasked];
    this.#unasked.clear();
    for (const onAsked of watches) onAsked();
    return nowMs;
  }

  /** Forgets decisions that are not repeated, and frontends that have gone. */
  #prune(): void {
    const oldestMs = this.#clock.monotonicMs() - WORD_HOLDS_MS;
    for (const [id, frontend] of this.#frontends) {
      if (frontend.heardAtMs > oldestMs) continue;
      frontend.decision = undefined;
      if (frontend.watches < 1) this.#frontends.delete(id);
    }
  }
}
