const MAX_WORKERS = 64;
const MAX_POOLS = 8;

interface Start {
  hasServed: boolean;
  hasWindowPools: boolean;
  readonly pools: Map<number, number>;
}

/**
 * Starts of the workers of one log. A file to which several runs were written has several,
 * and the last one counts; processes of one start, each of which says so, have served nothing between.
 */
export class Starts {
  readonly #starts = new Map<string, Start>();

  /** Whether this is the start of one that comes after another. */
  isAnother(who: string): boolean {
    const isAnother = this.#starts.get(who)?.hasServed === true;
    if (isAnother) this.#starts.delete(who);
    return isAnother;
  }

  addServed(who: string): void {
    const start = this.#of(who);
    if (start !== undefined) start.hasServed = true;
  }

  addWindowPools(who: string): void {
    const start = this.#of(who);
    if (start !== undefined) start.hasWindowPools = true;
  }

  /** The bytes of a pool with those of the others that were named: ranks repeat each, and other tokens are another pool. */
  bytesWith(who: string, tokens: number | undefined, bytes: number | undefined): number | undefined {
    const start = this.#of(who);
    if (start === undefined || tokens === undefined || bytes === undefined) return bytes;
    if (!start.hasWindowPools) return bytes;
    if (start.pools.size < MAX_POOLS) start.pools.set(tokens, bytes);
    return [...start.pools.values()].reduce((sum, one) => sum + one, 0);
  }

  #of(who: string): Start | undefined {
    const known = this.#starts.get(who);
    if (known !== undefined || this.#starts.size >= MAX_WORKERS) return known;
    const start: Start = { hasServed: false, hasWindowPools: false, pools: new Map() };
    this.#starts.set(who, start);
    return start;
  }
}
