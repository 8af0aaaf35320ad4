import type { ModelTally } from './log-summary.js';

/** More models behind one frontend than that are counted together, under "". */
const MAX_MODELS = 16;

type Counts = { -readonly [Name in keyof ModelTally]: number };

/** Decisions and prompts by the model that was asked for. */
export class ModelCounts {
  readonly #models = new Map<string, Counts>();

  get isEmpty(): boolean {
    return this.#models.size === 0;
  }

  get tallies(): ReadonlyMap<string, ModelTally> {
    return this.#models;
  }

  addDecision(model: string, isFound: boolean): void {
    const counts = this.#of(model);
    counts.decisions += 1;
    if (isFound) counts.found += 1;
  }

  addPrompt(model: string, promptTokens: number, cachedTokens: number): void {
    const counts = this.#of(model);
    counts.promptTokens += promptTokens;
    counts.cachedTokens += cachedTokens;
  }

  #of(model: string): Counts {
    const known = this.#models.get(model);
    if (known !== undefined) return known;
    const key = this.#models.size < MAX_MODELS ? model : '';
    const counts = this.#models.get(key) ?? { decisions: 0, found: 0, promptTokens: 0, cachedTokens: 0 };
    this.#models.set(key, counts);
    return counts;
  }
}
