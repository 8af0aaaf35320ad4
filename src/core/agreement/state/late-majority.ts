import type { ContractValues } from '../../contract/contract-values.js';
import { isLateField, type LateField } from '../../contract/late-fields.js';

/** What most members state, by field. */
export type LateValues = Readonly<Partial<Record<LateField, string>>>;

/**
 * A13, A14: counts what deciding members state in the fields that are learned
 * late, and knows what most of them state. A function of what the epoch began with and of the
 * present reports alone, whatever the order in which they came (A11).
 */
export class LateMajority {
  readonly #counts = new Map<LateField, Map<string, number>>();
  #atStart: LateValues = {};
  #values: LateValues = {};
  #isStale = false;

  /** What members are compared with, as last brought up to date. */
  get values(): LateValues {
    return this.#values;
  }

  add(values: ContractValues): void {
    this.#count(values, 1);
  }

  remove(values: ContractValues): void {
    this.#count(values, -1);
  }

  /** An epoch begins with what its members agreed on: it wins a tie. */
  begin(): void {
    this.#atStart = {};
    this.#atStart = this.#most();
    this.#values = this.#atStart;
    this.#isStale = false;
  }

  /** Brings `values` up to date; true when they changed. */
  update(): boolean {
    if (!this.#isStale) return false;
    this.#isStale = false;
    const next = this.#most();
    const fields = Object.keys({ ...next, ...this.#values }) as LateField[];
    if (fields.every((field) => next[field] === this.#values[field])) return false;
    this.#values = next;
    return true;
  }

  #count(values: ContractValues, by: 1 | -1): void {
    for (const [field, value] of Object.entries(values)) {
      if (!isLateField(field)) continue;
      const counts = this.#counts.get(field) ?? new Map<string, number>();
      this.#counts.set(field, counts);
      const count = (counts.get(String(value)) ?? 0) + by;
      if (count === 0) counts.delete(String(value));
      else counts.set(String(value), count);
      if (counts.size === 0) this.#counts.delete(field);
      this.#isStale = true;
    }
  }

  #most(): LateValues {
    const most: Partial<Record<LateField, string>> = {};
    for (const [field, counts] of this.#counts) {
      const largest = Math.max(...counts.values());
      const tied = [...counts].filter(([, count]) => count === largest).map(([value]) => value);
      const before = this.#atStart[field];
      most[field] = before !== undefined && tied.includes(before) ? before : (tied.sort()[0] ?? '');
    }
    return most;
  }
}
