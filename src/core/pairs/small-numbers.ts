/** Numbers for what comes and goes, so that lists of what is there stay short. The last that was given back is given out first. */
export class SmallNumbers {
  readonly #free: number[] = [];
  #limit: number;

  /** The first is `first`. */
  constructor(first = 0) {
    this.#limit = first;
  }

  /** Above the largest that was ever given out. */
  get limit(): number {
    return this.#limit;
  }

  take(): number {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    this.#limit += 1;
    return this.#limit - 1;
  }

  /** For one that was taken, once. */
  giveBack(number: number): void {
    this.#free.push(number);
  }
}
