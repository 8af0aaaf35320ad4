/** Counts by key; keys that come when all places are taken are counted under "". */
export class BoundedCounts {
  readonly #cells = new Map<string, { count: number }>();
  readonly #maxKeys: number;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  add(key: string, count = 1): void {
    const cell = this.#cells.get(key);
    if (cell !== undefined) cell.count += count;
    else if (key === '' || this.#cells.size < this.#maxKeys) this.#cells.set(key, { count });
    else this.add('', count);
  }

  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.#cells].map(([key, { count }]) => [key, count]));
  }
}
