/** Programs of one log that are distinguished; those beyond count as one. */
const MAX_PROGRAMS = 64;

/**
 * What is kept for each program of one log, by the pod or worker that a prefix of its lines names, as a file of `kubectl logs --prefix` has
 * those of many. The empty name is of lines without a prefix, and of the programs beyond the bound.
 */
export class ByProgram<T> {
  readonly #made = new Map<string, T>();
  readonly #make: () => T;

  constructor(make: () => T) {
    this.#make = make;
  }

  of(who: string): T {
    const key = this.#made.has(who) || this.#made.size < MAX_PROGRAMS ? who : '';
    let found = this.#made.get(key);
    if (found === undefined) {
      found = this.#make();
      this.#made.set(key, found);
    }
    return found;
  }

  entries(): Iterable<readonly [string, T]> {
    return this.#made;
  }
}
