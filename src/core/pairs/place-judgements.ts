const FIRST_ROOM = 16;

/** A byte for each place of the other role, by its number; 0 where none was set. */
export class PlaceJudgements {
  #bytes = new Uint8Array(0);

  get(place: number): number {
    return this.#bytes[place] ?? 0;
  }

  set(place: number, judged: number): void {
    if (place >= this.#bytes.length) {
      const larger = new Uint8Array(Math.max(FIRST_ROOM, 2 * place));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[place] = judged;
  }

  /** The place is gone, and its number may be another's. */
  forget(place: number): void {
    if (place < this.#bytes.length) this.#bytes[place] = 0;
  }
}
