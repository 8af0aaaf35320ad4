/** Words that are let stand behind the head before they are given back. */
const COMPACT_AT = 1_024;

/** First in, first out, without moving what stays. */
export class Fifo<Thing> {
  #things: (Thing | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#things.length - this.#head;
  }

  /** The one that waits longest; undefined when none does. */
  get first(): Thing | undefined {
    return this.#things[this.#head];
  }

  add(thing: Thing): void {
    this.#things.push(thing);
  }

  /** Takes the first one out. Harmless when there is none. */
  drop(): void {
    if (this.size === 0) return;
    this.#things[this.#head] = undefined;
    this.#head += 1;
    if (this.#head < COMPACT_AT || 2 * this.#head < this.#things.length) return;
    this.#things = this.#things.slice(this.#head);
    this.#head = 0;
  }

  clear(): void {
    this.#things = [];
    this.#head = 0;
  }
}
