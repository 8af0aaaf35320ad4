/** Python's values, as a template of Jinja2 sees them. */
import { inexact, refuse } from './errors.js';

/**
 * `null` is None, a `number` an int within JavaScript's safe integers, an array
 * a list. Whatever else JavaScript has no counterpart of is a class here.
 */
export type Value =
  | null
  | boolean
  | number
  | string
  | Value[]
  | PyFloat
  | PyTuple
  | PyDict
  | PyMarkup
  | PyUndefined
  | PyNamespace
  | PyView
  | PyIterator
  | PyRange
  | PyFunction;

/** A float, also where it is a whole number: Python prints 1.0. */
export class PyFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** A tuple, which is equal to no list and prints with parentheses. */
export class PyTuple {
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** Text that is marked as safe HTML: what is added to it is escaped. */
export class PyMarkup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A name or a field that is not there. Printed it is empty; most else that is done with it is an error. */
export class PyUndefined {
  /** What using it raises: `'x' is undefined`. */
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }

  fail(): never {
    return refuse(this.problem);
  }
}

/** What `namespace()` makes. */
export class PyNamespace {
  readonly attributes: Map<string, Value> = new Map();
}

/** `items()`, `keys()` and `values()` of a dict. */
export class PyView {
  readonly dict: PyDict;
  readonly kind: 'items' | 'keys' | 'values';

  constructor(dict: PyDict, kind: 'items' | 'keys' | 'values') {
    this.dict = dict;
    this.kind = kind;
  }

  items(): Value[] {
    const entries = [...this.dict.entries()];
    if (this.kind === 'keys') return entries.map(([key]) => key);
    if (this.kind === 'values') return entries.map(([, value]) => value);
    return entries.map((entry) => new PyTuple(entry));
  }
}

/** A generator: it can be gone through once. */
export class PyIterator {
  readonly source: Iterator<Value>;

  constructor(source: Iterator<Value>) {
    this.source = source;
  }

  *rest(): Generator<Value> {
    for (;;) {
      const next = this.source.next();
      if (next.done === true) return;
      yield next.value;
    }
  }
}

/** What `range()` makes. */
export class PyRange {
  readonly items: readonly number[];

  constructor(items: readonly number[]) {
    this.items = items;
  }
}

/** Positional and named arguments of a call. */
export interface CallArguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** A macro, a method, or a global function. */
export class PyFunction {
  readonly name: string;
  readonly call: (args: CallArguments) => Value;
  /** Fields of it that templates read: `loop.index` of a loop. Undefined for a plain function. */
  readonly attributeOf: ((name: string) => Value | undefined) | undefined;

  constructor(
    name: string,
    call: (args: CallArguments) => Value,
    attributeOf?: (name: string) => Value | undefined,
  ) {
    this.name = name;
    this.call = call;
    this.attributeOf = attributeOf;
  }
}

/** Stands in JSON for a field that some engines have there and others do not. */
export const UNSURE: unique symbol = Symbol('unsure');

/** A dict in the order of insertion. Keys that are equal in Python (1, 1.0, True) are one. */
export class PyDict {
  readonly #entries = new Map<unknown, [Value, Value]>();
  /** A key that may be there or not: whatever depends on it throws an `InexactError`. */
  #unsureKey: string | undefined;

  get size(): number {
    if (this.#unsureKey !== undefined) return inexact('the size of such a dict');
    return this.#entries.size;
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0 && this.size === 0;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(this.#sure(key))?.[1];
  }

  set(key: Value, value: Value): void {
    const hash = this.#sure(key);
    const entry = this.#entries.get(hash);
    if (entry === undefined) this.#entries.set(hash, [key, value]);
    else entry[1] = value;
  }

  has(key: Value): boolean {
    return this.#entries.has(this.#sure(key));
  }

  entries(): Iterable<[Value, Value]> {
    if (this.#unsureKey !== undefined) return inexact('all fields of such a dict');
    return this.#entries.values();
  }

  /** Leaves open whether there is such a key. */
  setUnsure(key: string): void {
    this.#unsureKey = key;
  }

  #sure(key: Value): unknown {
    const hash = hashable(key);
    return hash === this.#unsureKey ? inexact(`the field "${this.#unsureKey}"`) : hash;
  }
}

/** What distinguishes the keys of a `Map`. */
function hashable(key: Value): unknown {
  if (key === null || typeof key === 'string' || typeof key === 'number') return key;
  if (typeof key === 'boolean') return key ? 1 : 0;
  if (key instanceof PyFloat) return Number.isNaN(key.value) ? inexact('NaN as a key') : key.value;
  if (key instanceof PyMarkup) return key.text;
  if (Array.isArray(key) || key instanceof PyDict) return refuse('unhashable type');
  return inexact('a key of that type');
}

/** JSON as it is parsed by JavaScript, with at most one `UNSURE` field in an object. Throws an `InexactError` for what Python's parser makes something else of. */
export function fromJson(value: unknown): Value {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return isWellFormed(value) ? value : inexact('half a surrogate pair');
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return value;
    // Beyond the safe integers nobody knows whether it was written as an int.
    return Number.isInteger(value) || !Number.isFinite(value) ? inexact('such a number') : new PyFloat(value);
  }
  if (Array.isArray(value)) return value.map(fromJson);
  if (typeof value !== 'object') return inexact(`a ${typeof value}`);
  const dict = new PyDict();
  for (const [key, item] of Object.entries(value)) {
    // JavaScript puts such keys first, wherever they stood.
    if (/^(?:0|[1-9]\d*)$/.test(key) || !isWellFormed(key)) return inexact('such a key');
    if (item === UNSURE) dict.setUnsure(key);
    else dict.set(key, fromJson(item));
  }
  return dict;
}

/** Whether a text has no half of a surrogate pair, which Python keeps apart and JavaScript may join. */
function isWellFormed(text: string): boolean {
  return !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);
}
