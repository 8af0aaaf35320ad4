/** Prompts that are looked back at. */
const LOOKS = 16;

/** Looks before anything is concluded. */
const LEAST_LOOKS = 12;

/** Of those, prompts whose blocks no event named, from which on the events are doubted. */
const MISSING_PART = 0.75;

/** Prompts in a row whose blocks were named, before the events are believed again; twice as many each time, up to 16 times. */
const FIRST_NAMED = 16;
const MAX_LONGER = 16;

/** What became of the blocks of a prompt that a rank computed: named by its events, by those of another rank alone, or by none. */
export type Stored = 'here' | 'elsewhere' | 'nowhere';

/**
 * Whether a rank's KV events name the blocks of the prompts that it computes.
 * They do not where its prefix cache is off, where they are those of another
 * engine, where they are lost, and where it is sent other tokens than are
 * looked up: all that shows also when nothing is ever found.
 */
export class StoreGauge {
  readonly #last: Stored[] = [];
  #isDoubted = false;
  #named = 0;
  #times = 0;

  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Prompts that were looked back at, those of them whose blocks were not named, and those named elsewhere. */
  get counts(): { readonly looks: number; readonly missing: number; readonly elsewhere: number } {
    const missing = this.#last.filter((stored) => stored !== 'here').length;
    const elsewhere = this.#last.filter((stored) => stored === 'elsewhere').length;
    return { looks: this.#last.length, missing, elsewhere };
  }

  /** Prompts in a row whose blocks must still be named before the events are believed again; 0 while they are. */
  get missingRequests(): number {
    return this.#isDoubted ? this.#asked - this.#named : 0;
  }

  /** One prompt; true when the judgement is another one now. */
  add(stored: Stored): boolean {
    this.#last.push(stored);
    if (this.#last.length > LOOKS) this.#last.shift();
    if (this.#isDoubted) {
      this.#named = stored === 'here' ? this.#named + 1 : 0;
      if (this.#named < this.#asked) return false;
      this.#isDoubted = false;
      return true;
    }
    const { looks, missing } = this.counts;
    if (looks < LEAST_LOOKS || missing < MISSING_PART * looks) return false;
    this.#isDoubted = true;
    this.#named = 0;
    this.#times += 1;
    return true;
  }

  get #asked(): number {
    return FIRST_NAMED * Math.min(MAX_LONGER, 2 ** (this.#times - 1));
  }
}
