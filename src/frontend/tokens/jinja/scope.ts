import { PyUndefined, type Value } from './values.js';

/** Names and their values, from the inside out. */
export class Scope {
  readonly #values: Map<string, Value>;
  readonly #outer: Scope | undefined;

  constructor(outer: Scope | undefined, values: Map<string, Value> = new Map()) {
    this.#outer = outer;
    this.#values = values;
  }

  get(name: string): Value {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.#outer) {
      const value = scope.#values.get(name);
      if (value !== undefined) return value;
    }
    return new PyUndefined(`'${name}' is undefined`);
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value);
  }
}
