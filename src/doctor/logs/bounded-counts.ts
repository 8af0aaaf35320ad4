/** Counts by key; keys that come when all places are taken are counted under "". */
export class BoundedCounts {
  readonly #counts = new Map<string, number>();
  readonly #maxKeys: number;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  add(key: string, count = 1): void {
    const before = this.#counts.get(key);
    if (before !== undefined) this.#counts.set(key, before + count);
    else if (this.#counts.size < this.#maxKeys) this.#counts.set(key, count);
    else this.#counts.set('', (this.#counts.get('') ?? 0) + count);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }
}
