import { IndexArea, type Matches } from './prefix-index-area.js';
import { PrefixIndexError } from './prefix-index-error.js';
import { type IndexFunctions, type IndexMemory, startIndexKernel } from './prefix-index-kernel.js';
import { TIERS, type Tier } from './tier.js';

/** What a reader in another thread needs; it can be posted there. */
export interface SharedPrefixIndex {
  readonly memory: IndexMemory;
  /** Address of this reader's own room. */
  readonly area: number;
}

/** After so many look-ups that a change disturbed the writer is asked to let this one through. */
const PATIENT_TRIES = 4;
/** More than the longest change lasts while its thread runs: from then on it is waited for asleep. */
const SPINS = 20_000;
const SLEEP_MS = 1;
/** So often in one look-up: no change lasts a second unless its thread was ended or stopped in the middle. */
const MAX_SLEEPS = 1_000;

/** Looks up in another thread than the one that changes the index; one reader, one thread. */
export class PrefixIndexReader {
  readonly #kernel: IndexFunctions;
  readonly #area: IndexArea;
  readonly #address: number;
  readonly #version: Int32Array;

  constructor(shared: SharedPrefixIndex) {
    this.#kernel = startIndexKernel(shared.memory);
    this.#address = shared.area;
    this.#version = new Int32Array(shared.memory.buffer, this.#kernel.versionAddress(), 1);
    this.#area = new IndexArea(this.#kernel, shared.memory, shared.area);
  }

  /**
   * As `PrefixIndex.find`: an answer that was true at one moment of the call.
   * Throws `PrefixIndexError('busy')` when no such moment came.
   */
  find(sequenceHashes: Uint8Array, deepest: Tier): Matches {
    const tier = TIERS.indexOf(deepest);
    for (let sleeps = 0; sleeps < MAX_SLEEPS; sleeps += 1) {
      for (let tried = 0; tried < SPINS; tried += 1) {
        const isAsking = sleeps > 0 || tried >= PATIENT_TRIES;
        if (isAsking) this.#kernel.askForQuiet();
        const before = this.#kernel.readVersion(this.#address);
        if ((before & 1) !== 0) continue;
        const matches = this.#tryFind(sequenceHashes, tier, before);
        if (matches === undefined) continue;
        if (isAsking) this.#kernel.endQuiet();
        return matches;
      }
      Atomics.wait(this.#version, 0, Atomics.load(this.#version, 0), SLEEP_MS);
    }
    throw new PrefixIndexError(
      'busy',
      `the prefix index changed during all of ${SPINS * MAX_SLEEPS} look-ups, or its writer has ended`,
    );
  }

  /** Undefined when the index has changed meanwhile. */
  #tryFind(sequenceHashes: Uint8Array, tier: number, before: number): Matches | undefined {
    let matches: Matches;
    try {
      matches = this.#area.find(sequenceHashes, tier);
    } catch (error) {
      // Addresses that were read in the middle of a change may lie anywhere.
      if (this.#kernel.readVersion(this.#address) !== before) return undefined;
      throw error;
    }
    return this.#kernel.readVersion(this.#address) === before ? matches : undefined;
  }
}
