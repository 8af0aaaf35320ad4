/**
 * Rules whose needles a line has, by their indexes: in the order in which the
 * needles begin there, those that begin together in their own order, each rule once.
 * One is used again for each line.
 */
export class RuleHits {
  readonly #rules: number[] = [];
  readonly #starts: number[] = [];
  count = 0;

  clear(): void {
    this.count = 0;
  }

  /** The rule at a place of the order. */
  at(place: number): number {
    return this.#rules[place] as number;
  }

  /** Where the first needle begins. */
  get first(): number {
    return this.#starts[0] as number;
  }

  /** Needles may come in any order. */
  add(rule: number, start: number): void {
    const rules = this.#rules;
    const starts = this.#starts;
    let place = 0;
    for (; place < this.count; place += 1) {
      if (rules[place] === rule && (starts[place] as number) <= start) return;
      const isBehind =
        (starts[place] as number) > start || (starts[place] === start && (rules[place] as number) > rule);
      if (isBehind) break;
    }
    // Up to where the same rule stands already, all move one place on.
    let last = place;
    while (last < this.count && rules[last] !== rule) last += 1;
    if (last === this.count) this.count += 1;
    for (let to = last; to > place; to -= 1) {
      rules[to] = rules[to - 1] as number;
      starts[to] = starts[to - 1] as number;
    }
    rules[place] = rule;
    starts[place] = start;
  }
}
