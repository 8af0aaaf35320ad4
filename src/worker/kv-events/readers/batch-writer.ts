import type { AppliedBatch, RankCache } from '../cache/rank-cache.js';

/** What is left of a batch of which nothing counts. */
const NOTHING_APPLIED: AppliedBatch = { changes: [], orphans: 0 };

export interface BatchWriterModules {
  readonly cache: Pick<RankCache, 'applyInSteps' | 'clear' | 'size' | 'flaw'>;
  /** Lets others work when there was much to do. */
  readonly rest: () => Promise<void>;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** Writes one rank's batches into its cache, each in as many slices of time as it takes. */
export class BatchWriter {
  readonly #modules: BatchWriterModules;
  /** How often the cache was dropped: what is being written is of the cache before then. */
  #drops = 0;
  /** What spoke against the cache before the batch that is being written: readers have nothing of that batch yet. */
  #flawBefore: string | undefined;

  constructor(modules: BatchWriterModules) {
    this.#modules = modules;
  }

  /** What the cache itself says against its view, as far as readers have it. */
  get flaw(): string | undefined {
    return this.#flawBefore ?? this.#modules.cache.flaw;
  }

  /**
   * Calls `publish` with what the batch changed, in the moment in which it is whole: a reader that begins just then finds no
   * block that was not published. Not when the cache was dropped meanwhile, or all ended: the rest counts for nothing then.
   */
  async write(payload: Uint8Array, publish: (applied: AppliedBatch) => void): Promise<void> {
    const { cache, rest, signal } = this.#modules;
    const drops = this.#drops;
    this.#flawBefore = cache.flaw;
    const steps = cache.applyInSteps(payload);
    for (;;) {
      const step = steps.next();
      if (step.done === true) {
        publish(step.value);
        return;
      }
      await rest();
      if (drops === this.#drops && !signal.aborted) continue;
      steps.return(NOTHING_APPLIED);
      return;
    }
  }

  /** Readers have the batch that was written last. */
  published(): void {
    this.#flawBefore = undefined;
  }

  /** Empties the cache. */
  drop(): void {
    this.#modules.cache.clear();
    this.#drops += 1;
    this.#flawBefore = undefined;
  }
}
