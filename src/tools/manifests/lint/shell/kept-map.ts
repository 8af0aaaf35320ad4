/** A map that can be kept as it is at any time, for nothing: it is copied when it changes after that. */
export class KeptMap<V> {
  #map: ReadonlyMap<string, V>;
  /** The same map, as long as nobody keeps it. */
  #own: Map<string, V> | undefined;

  constructor(entries: Iterable<readonly [string, V]> = []) {
    this.#own = new Map(entries);
    this.#map = this.#own;
  }

  get(name: string): V | undefined {
    return this.#map.get(name);
  }

  has(name: string): boolean {
    return this.#map.has(name);
  }

  keys(): Iterable<string> {
    return this.#map.keys();
  }

  set(name: string, value: V): void {
    this.#writable().set(name, value);
  }

  delete(name: string): void {
    if (this.#map.has(name)) this.#writable().delete(name);
  }

  /** What is in it now. */
  keep(): ReadonlyMap<string, V> {
    this.#own = undefined;
    return this.#map;
  }

  /** Goes back to what was kept. */
  return(kept: ReadonlyMap<string, V>): void {
    this.#own = undefined;
    this.#map = kept;
  }

  #writable(): Map<string, V> {
    if (this.#own === undefined) {
      this.#own = new Map(this.#map);
      this.#map = this.#own;
    }
    return this.#own;
  }
}
