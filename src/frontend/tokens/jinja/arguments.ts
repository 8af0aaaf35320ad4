import { refuse } from './errors.js';
import { indexOf, stringOf } from './operators.js';
import type { CallArguments, Value } from './values.js';

/** What a parameter may be given, in the order of the signature. */
export type Signature = readonly string[];

/** The arguments of one call by the names of its parameters, as Python binds them. */
export class Arguments {
  readonly #values = new Map<string, Value>();

  constructor({ positional, named }: CallArguments, signature: Signature) {
    if (positional.length > signature.length) refuse('too many arguments');
    for (const [at, value] of positional.entries()) this.#values.set(signature[at] as string, value);
    for (const [name, value] of named) {
      if (!signature.includes(name) || this.#values.has(name)) refuse(`unexpected argument ${name}`);
      this.#values.set(name, value);
    }
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Its value, `byDefault` when it was not given; without a default it has to be. */
  value(name: string, byDefault?: Value): Value {
    const value = this.#values.has(name) ? this.#values.get(name) : byDefault;
    return value === undefined ? refuse(`missing argument ${name}`) : value;
  }

  /** A str. */
  text(name: string, byDefault?: string): string {
    return stringOf(this.value(name, byDefault)) ?? refuse(`argument ${name} must be str`);
  }

  /** A str, or None, which is also the default. */
  optionalText(name: string): string | null {
    return this.value(name, null) === null ? null : this.text(name);
  }

  /** An int. */
  int(name: string, byDefault?: number): number {
    return indexOf(this.value(name, byDefault));
  }
}

/** A call without arguments. */
export const NOTHING_GIVEN: CallArguments = { positional: [], named: new Map() };
