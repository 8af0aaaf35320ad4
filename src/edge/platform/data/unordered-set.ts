/** What can be in one unordered set at a time. */
export interface UnorderedMember {
  /** Where it stands in its set; kept by the set alone. Begins as -1. */
  place: number;
}

/**
 * Things that come and go, in no order. A `Set` would do, but where every
 * request comes and goes V8 makes it a new table ever so often, and each old
 * one points to the next: once one is old, all that stood in any of them
 * outlives the collections of young objects, a sixth of the processor time.
 */
export class UnorderedSet<Thing extends UnorderedMember> {
  readonly #things: Thing[] = [];

  get size(): number {
    return this.#things.length;
  }

  add(thing: Thing): void {
    thing.place = this.#things.length;
    this.#things.push(thing);
  }

  /** Harmless for one that is not here. */
  delete(thing: Thing): void {
    const { place } = thing;
    if (this.#things[place] !== thing) return;
    const last = this.#things.pop() as Thing;
    if (last === thing) return;
    this.#things[place] = last;
    last.place = place;
  }

  /** As they are now: what is called for them may take them out. */
  snapshot(): readonly Thing[] {
    return [...this.#things];
  }
}
