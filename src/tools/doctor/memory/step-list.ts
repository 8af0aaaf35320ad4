import type { Origin } from '../evidence.js';
import type { Step } from './memory-arithmetic.js';

/** The lines of one arithmetic, in their order. */
export class StepList {
  readonly #steps: Step[] = [];

  get steps(): readonly Step[] {
    return this.#steps;
  }

  add(...steps: readonly Step[]): void {
    this.#steps.push(...steps);
  }

  /** Adds a line, and gives its value back. */
  step(
    says: string,
    expression: string,
    value: number,
    unit: Step['unit'],
    ...from: readonly { readonly origin: Origin }[]
  ): number {
    this.#steps.push({ says, expression, value, unit, origins: from.map(({ origin }) => origin) });
    return value;
  }
}
