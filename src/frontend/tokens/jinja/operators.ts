/** What Python's operators, `str`, `len`, `bool` and `iter` do with values. */
import { inexact, refuse } from './errors.js';
import {
  characters,
  checkLength,
  compareTexts,
  escapeHtml,
  floatText,
  lengthOf,
  slice,
  textRepr,
} from './text.js';
import {
  PyDict,
  PyFloat,
  PyIterator,
  PyMarkup,
  PyRange,
  PyTuple,
  PyUndefined,
  PyView,
  type Value,
} from './values.js';

/** `bool(value)`. */
export function isTrue(value: Value): boolean {
  if (value === null || typeof value === 'boolean') return value === true;
  if (typeof value === 'number') return value !== 0;
  if (typeof value === 'string') return value !== '';
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof PyUndefined) return false;
  if (value instanceof PyDict) return !value.isEmpty;
  if (value instanceof PyFloat) return value.value !== 0;
  if (value instanceof PyMarkup) return value.text !== '';
  if (value instanceof PyTuple || value instanceof PyRange) return value.items.length > 0;
  if (value instanceof PyView) return !value.dict.isEmpty;
  return true;
}

/** `str(value)`; what is printed. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (value instanceof PyUndefined) return '';
  if (value instanceof PyMarkup) return value.text;
  return reprOf(value, 0);
}

/** Deepest nesting that is printed; Python's own limit is some hundreds. */
const MAX_DEPTH = 200;

/** `repr(value)`. */
export function reprOf(value: Value, depth: number): string {
  if (depth > MAX_DEPTH) return inexact('a nesting of that depth');
  const inner = (item: Value): string => reprOf(item, depth + 1);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return textRepr(value);
  if (value instanceof PyFloat) return floatText(value.value);
  if (Array.isArray(value)) return `[${value.map(inner).join(', ')}]`;
  if (value instanceof PyTuple)
    return `(${value.items.map(inner).join(', ')}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof PyDict)
    return `{${[...value.entries()].map(([key, item]) => `${inner(key)}: ${inner(item)}`).join(', ')}}`;
  if (value instanceof PyUndefined) return 'Undefined';
  if (value instanceof PyMarkup) return `Markup(${textRepr(value.text)})`;
  if (value instanceof PyView) return `dict_${value.kind}([${value.items().map(inner).join(', ')}])`;
  return inexact('what a function or generator is printed as');
}

/** `len(value)`. */
export function length(value: Value): number {
  if (typeof value === 'string') return lengthOf(value);
  if (value instanceof PyMarkup) return lengthOf(value.text);
  if (Array.isArray(value)) return value.length;
  if (value instanceof PyDict) return value.size;
  if (value instanceof PyTuple || value instanceof PyRange) return value.items.length;
  if (value instanceof PyView) return value.dict.size;
  if (value instanceof PyUndefined) return 0;
  return refuse('it has no len()');
}

/** `iter(value)`. A generator is used up by it. */
export function iterate(value: Value): Iterable<Value> {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return value;
  if (value instanceof PyMarkup) return [...value.text].map((character) => new PyMarkup(character));
  if (value instanceof PyDict) return [...value.entries()].map(([key]) => key);
  if (value instanceof PyTuple || value instanceof PyRange) return value.items;
  if (value instanceof PyView) return value.items();
  if (value instanceof PyIterator) return value.rest();
  if (value instanceof PyUndefined) return [];
  return refuse('it is not iterable');
}

/** An int, bool or float as a number; undefined for all else. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof PyFloat ? value.value : undefined;
}

/** The text of a str, also of one that is marked safe. */
export function stringOf(value: Value): string | undefined {
  return typeof value === 'string' ? value : value instanceof PyMarkup ? value.text : undefined;
}

/** `a == b`. */
export function isEqual(a: Value, b: Value): boolean {
  if (a === b) return !(a instanceof PyFloat && Number.isNaN(a.value));
  const x = numberOf(a);
  if (x !== undefined) return x === numberOf(b);
  const text = stringOf(a);
  if (text !== undefined) return text === stringOf(b);
  if (Array.isArray(a)) return Array.isArray(b) && areEqual(a, b);
  if (a instanceof PyTuple) return b instanceof PyTuple && areEqual(a.items, b.items);
  if (a instanceof PyRange) return b instanceof PyRange && areEqual(a.items, b.items);
  if (a instanceof PyUndefined) return b instanceof PyUndefined;
  if (a instanceof PyDict) {
    if (!(b instanceof PyDict) || a.size !== b.size) return false;
    for (const [key, item] of a.entries()) {
      const other = b.get(key);
      if (other === undefined || !isEqual(item, other)) return false;
    }
    return true;
  }
  if (a instanceof PyView && b instanceof PyView) return inexact('a comparison of views');
  return false;
}

function areEqual(a: readonly Value[], b: readonly Value[]): boolean {
  return a.length === b.length && a.every((item, at) => isEqual(item, b[at] as Value));
}

/** Negative, 0 or positive as `a` stands to `b`. Throws where Python has no order. */
export function compare(a: Value, b: Value): number {
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== undefined && y !== undefined)
    return Number.isNaN(x) || Number.isNaN(y) ? inexact('the order of NaN') : x - y;
  const s = stringOf(a);
  const t = stringOf(b);
  if (s !== undefined && t !== undefined) return compareTexts(s, t);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (a instanceof PyTuple && b instanceof PyTuple) return compareLists(a.items, b.items);
  return refuse('there is no order between these types');
}

function compareLists(a: readonly Value[], b: readonly Value[]): number {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const [x, y] = [a[at] as Value, b[at] as Value];
    if (!isEqual(x, y)) return compare(x, y);
  }
  return a.length - b.length;
}

/** `item in container`. */
export function isIn(item: Value, container: Value): boolean {
  const text = stringOf(container);
  if (text !== undefined) return text.includes(stringOf(item) ?? refuse("'in <string>' requires string"));
  if (container instanceof PyDict) return container.has(item);
  for (const one of iterate(container)) if (isEqual(one, item)) return true;
  return false;
}

/** An int, which must not be larger than JavaScript counts exactly. */
export function int(value: number): number {
  if (!Number.isSafeInteger(value)) return inexact('an integer of that size');
  return value + 0;
}

/** `+ - * / // % **`. */
export function binary(op: string, a: Value, b: Value): Value {
  if (a instanceof PyUndefined) return a.fail();
  if (b instanceof PyUndefined) return b.fail();
  const x = numberOf(a);
  const y = numberOf(b);
  if (x !== undefined && y !== undefined)
    return arithmetic(op, x, y, a instanceof PyFloat || b instanceof PyFloat);
  if (op === '+') return add(a, b);
  if (op === '*') {
    if (x !== undefined && !(a instanceof PyFloat)) return repeat(b, x);
    if (y !== undefined && !(b instanceof PyFloat)) return repeat(a, y);
  }
  if (op === '%' && stringOf(a) !== undefined) return inexact('the formatting by %');
  return refuse(`unsupported operand types for ${op}`);
}

function arithmetic(op: string, x: number, y: number, isFloat: boolean): Value {
  const made = (value: number): Value => (isFloat ? new PyFloat(value) : int(value));
  if (y === 0 && (op === '/' || op === '//' || op === '%')) return refuse('division by zero');
  switch (op) {
    case '+':
      return made(x + y);
    case '-':
      return made(x - y);
    case '*':
      return made(x * y);
    case '/':
      return new PyFloat(x / y);
    case '//':
      return isFloat ? inexact('the floor of a float') : int(Math.floor(x / y));
    case '%':
      return isFloat ? inexact('the remainder of a float') : int(((x % y) + y) % y);
    default:
      return isFloat || y < 0 ? inexact('a power of floats') : int(x ** y);
  }
}

/** Longest list that `+` and `*` make. */
const MAX_ITEMS = 1_000_000;

function add(a: Value, b: Value): Value {
  if (typeof a === 'string' && typeof b === 'string') {
    checkLength(a.length + b.length);
    return a + b;
  }
  if (Array.isArray(a) && Array.isArray(b))
    return a.length + b.length > MAX_ITEMS ? inexact('a list of that length') : a.concat(b);
  if (a instanceof PyTuple && b instanceof PyTuple) return new PyTuple([...a.items, ...b.items]);
  const s = stringOf(a);
  const t = stringOf(b);
  if (s === undefined || t === undefined) return refuse('unsupported operand types for +');
  const joined = (a instanceof PyMarkup ? s : escapeHtml(s)) + (b instanceof PyMarkup ? t : escapeHtml(t));
  checkLength(joined.length);
  return new PyMarkup(joined);
}

function repeat(value: Value, times: number): Value {
  const count = Math.max(0, times);
  if (typeof value === 'string') {
    checkLength(value.length * count);
    return value.repeat(count);
  }
  const items = Array.isArray(value) ? value : value instanceof PyTuple ? value.items : undefined;
  if (items === undefined)
    return value instanceof PyMarkup ? inexact('repeated markup') : refuse('unsupported operand types for *');
  if (items.length * count > MAX_ITEMS) return inexact('a list of that length');
  const made = Array.from({ length: count }, () => items).flat() as Value[];
  return Array.isArray(value) ? made : new PyTuple(made);
}

/** `value[start:stop:step]`, each null where it is left out. */
export function sliceOf(value: Value, start: Value, stop: Value, step: Value): Value {
  const by = step === null ? 1 : indexOf(step);
  if (by === 0) return refuse('slice step cannot be zero');
  const text = typeof value === 'string' ? characters(value) : undefined;
  const items = text ?? (Array.isArray(value) ? value : value instanceof PyTuple ? value.items : undefined);
  if (items === undefined) return inexact('a slice of that type');
  const size = items.length;
  const clamp = (given: Value, byDefault: number): number => {
    if (given === null) return byDefault;
    const at = indexOf(given);
    const lowest = by < 0 ? -1 : 0;
    return Math.min(Math.max(at < 0 ? at + size : at, lowest), by < 0 ? size - 1 : size);
  };
  const from = clamp(start, by < 0 ? size - 1 : 0);
  const to = clamp(stop, by < 0 ? -1 : size);
  if (by === 1 && text !== undefined) return slice(text, from, Math.max(from, to));
  const made: Value[] = [];
  for (let at = from; by > 0 ? at < to : at > to; at += by) made.push(items[at] as Value);
  if (text !== undefined) return made.join('');
  return Array.isArray(value) ? made : new PyTuple(made);
}

/** What stands for a place in a sequence. */
export function indexOf(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return value instanceof PyUndefined ? value.fail() : refuse('indices must be integers');
}
