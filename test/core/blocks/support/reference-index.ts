import { TIERS, type Tier } from '../../../../src/core/blocks/tier.js';

/** What a prefix index does, in the plainest way: sets of holders in maps. */
export class ReferenceIndex {
  readonly #tiers: readonly Map<bigint, Set<number>>[] = TIERS.map(() => new Map());

  /** The number of pairs that are new. */
  store(holder: number, tier: Tier, hashes: readonly bigint[]): number {
    const table = this.#table(tier);
    let added = 0;
    for (const hash of hashes) {
      const holders = table.get(hash) ?? new Set();
      table.set(hash, holders);
      if (!holders.has(holder)) added += 1;
      holders.add(holder);
    }
    return added;
  }

  /** The number of pairs that are gone. */
  remove(holder: number, tier: Tier, hashes: readonly bigint[]): number {
    const table = this.#table(tier);
    let gone = 0;
    for (const hash of hashes) {
      const holders = table.get(hash);
      if (holders?.delete(holder) !== true) continue;
      gone += 1;
      if (holders.size === 0) table.delete(hash);
    }
    return gone;
  }

  /** Everything of a holder. */
  drop(holder: number): void {
    for (const tier of TIERS) this.remove(holder, tier, [...this.#table(tier).keys()]);
  }

  /** Leading blocks of each holder that has the first. */
  find(hashes: readonly bigint[], deepest: Tier): Map<number, number> {
    const depths = new Map<number, number>();
    const tables = this.#tiers.slice(0, TIERS.indexOf(deepest) + 1);
    for (const [index, hash] of hashes.entries()) {
      for (const holder of tables.flatMap((table) => [...(table.get(hash) ?? [])])) {
        if ((depths.get(holder) ?? 0) === index) depths.set(holder, index + 1);
      }
    }
    return depths;
  }

  blocksOf(holder: number, tier: Tier): number {
    return [...this.#table(tier).values()].filter((holders) => holders.has(holder)).length;
  }

  /** Sorted holders of each block. */
  entries(tier: Tier): Map<bigint, number[]> {
    return new Map(
      [...this.#table(tier)].map(([hash, holders]) => [hash, [...holders].sort((a, b) => a - b)]),
    );
  }

  get blocks(): number {
    return this.#tiers.reduce((sum, table) => sum + table.size, 0);
  }

  get pairs(): number {
    return this.#tiers.reduce(
      (sum, table) => sum + [...table.values()].reduce((inner, holders) => inner + holders.size, 0),
      0,
    );
  }

  #table(tier: Tier): Map<bigint, Set<number>> {
    return this.#tiers[TIERS.indexOf(tier)] as Map<bigint, Set<number>>;
  }
}
