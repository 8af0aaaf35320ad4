import type { PairChanges } from './pair-changes.js';
import { mayWork } from './pair-judge.js';
import type { PairMembers } from './pair-members.js';
import type { PairPolicy } from './pair-words.js';
import type { EntryPair } from './pairs-in-service.js';

/** P3: whether there is a pair that may be used, now or when it is no longer set aside. */
export class WorkablePair {
  readonly #members: PairMembers;
  readonly #changes: PairChanges;
  readonly #policy: PairPolicy;
  /** As found last. */
  #last: EntryPair | undefined;
  /** The version at which none was found. */
  #noneAt = -1;

  constructor(members: PairMembers, changes: PairChanges, policy: PairPolicy) {
    this.#members = members;
    this.#changes = changes;
    this.#policy = policy;
  }

  /** Constant time while the one that was found last is still one. */
  get exists(): boolean {
    const last = this.#last;
    if (last !== undefined && this.#members.isIn(last.prefill) && this.#members.isIn(last.decode)) {
      if (mayWork(last.prefill, last.decode, this.#policy)) return true;
    }
    this.#last = undefined;
    if (this.#noneAt === this.#changes.version) return false;
    for (const prefill of this.#members.prefill.entries.values()) {
      for (const decode of this.#members.decode.entries.values()) {
        if (!mayWork(prefill, decode, this.#policy)) continue;
        this.#last = { prefill, decode };
        return true;
      }
    }
    this.#noneAt = this.#changes.version;
    return false;
  }
}
