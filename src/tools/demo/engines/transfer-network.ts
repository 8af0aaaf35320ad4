/** What one engine holds for another one until it is fetched. */
interface HeldPrompt {
  readonly tokenIds: readonly number[];
  /** Of the engine that holds it: what another start of it held is gone. */
  readonly engineId: string;
}

/** Prompts that are held at a time; the oldest are given up as by a lease. */
const MAX_HELD = 1_024;

/** The network between simulated engines: what prefill engines hold, and how long a transfer takes. */
export class TransferNetwork {
  /** Milliseconds of a transfer for each token; may be changed while engines run. */
  msPerToken = 0.02;
  /** Why transfers fail now, in the words of an engine's log; undefined while they do not. */
  failure: string | undefined;
  /** Transfers that came over so far. */
  transfers = 0;
  readonly #held = new Map<string, HeldPrompt>();
  readonly #engines = new Set<string>();
  #requests = 0;

  /** An engine can hand over from now on. */
  join(engineId: string): void {
    this.#engines.add(engineId);
  }

  /** It is gone, with all that it held. */
  leave(engineId: string): void {
    this.#engines.delete(engineId);
    for (const [id, held] of this.#held) if (held.engineId === engineId) this.#held.delete(id);
  }

  /** Keeps a prompt for who asks for it by the id that comes back. */
  hold(engineId: string, tokenIds: readonly number[], id: string = this.#nextId()): string {
    this.#held.set(id, { engineId, tokenIds });
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= MAX_HELD) break;
      this.#held.delete(oldest);
    }
    return id;
  }

  /** Fetches a prompt once; throws with the reason where it does not come over. */
  fetch(id: string): readonly number[] {
    const held = this.#held.get(id);
    if (this.failure !== undefined) throw new Error(this.failure);
    if (held === undefined || !this.#engines.has(held.engineId))
      throw new Error('zmq.error.Again: Resource temporarily unavailable');
    this.#held.delete(id);
    this.transfers += 1;
    return held.tokenIds;
  }

  /** Whether a prompt waits under an id. */
  has(id: string): boolean {
    return this.#held.has(id);
  }

  #nextId(): string {
    this.#requests += 1;
    return `request-${this.#requests}`;
  }
}
