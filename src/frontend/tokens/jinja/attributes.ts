import { Arguments } from './arguments.js';
import { inexact, refuse } from './errors.js';
import { isEqual, sliceOf } from './operators.js';
import { stringMethod } from './string-methods.js';
import { characters } from './text.js';
import {
  type CallArguments,
  PyDict,
  PyFloat,
  PyFunction,
  PyMarkup,
  PyNamespace,
  PyRange,
  PyTuple,
  PyUndefined,
  PyView,
  type Value,
} from './values.js';

/** What changes a list or a dict: the sandbox gives nothing for these, and calling that is an error. */
const CHANGES_LIST: ReadonlySet<string> = new Set([
  'append',
  'clear',
  'extend',
  'insert',
  'pop',
  'remove',
  'reverse',
  'sort',
]);
const CHANGES_DICT: ReadonlySet<string> = new Set(['clear', 'pop', 'popitem', 'setdefault', 'update']);
const NUMBER_ATTRIBUTES =
  /^(?:as_integer_ratio|bit_count|bit_length|conjugate|denominator|from_bytes|fromhex|hex|imag|is_integer|numerator|real|to_bytes)$/;

/** `value.name`: first what Python's type has under that name, then the item of it. */
export function getAttribute(value: Value, name: string): Value {
  if (value instanceof PyUndefined) return value.fail();
  // None is a value, so `??` would not do.
  let found = attributeOf(value, name);
  if (found === undefined && value instanceof PyDict) found = value.get(name);
  return found === undefined ? missing(name) : found;
}

/** `value[item]`: first the item, then what Python's type has under that name. */
export function getItem(value: Value, item: Value): Value {
  if (value instanceof PyUndefined) return value.fail();
  if (value instanceof PyDict && !Array.isArray(item) && !(item instanceof PyDict)) {
    const found = value.get(item);
    if (found !== undefined) return found;
  } else if (typeof item === 'number' || typeof item === 'boolean') {
    const items = itemsOf(value);
    const at = Number(item);
    const found = items?.[at < 0 ? at + items.length : at];
    if (found !== undefined) return found;
  }
  const name = item instanceof PyMarkup ? item.text : item;
  const attribute = typeof name === 'string' ? attributeOf(value, name) : undefined;
  return attribute === undefined ? missing(typeof name === 'string' ? name : 'that item') : attribute;
}

/** `value[start:stop:step]`; what cannot be cut has no such item. */
export function getSlice(value: Value, start: Value, stop: Value, step: Value): Value {
  if (value instanceof PyUndefined) return value.fail();
  const isSequence =
    typeof value === 'string' ||
    Array.isArray(value) ||
    value instanceof PyTuple ||
    value instanceof PyMarkup ||
    value instanceof PyRange;
  return isSequence ? sliceOf(value, start, stop, step) : missing('that slice');
}

function missing(name: string): PyUndefined {
  return new PyUndefined(`there is no ${JSON.stringify(name.slice(0, 100))}`);
}

function itemsOf(value: Value): readonly Value[] | string | undefined {
  if (typeof value === 'string') return characters(value);
  if (Array.isArray(value)) return value;
  if (value instanceof PyMarkup) return inexact('a character of markup');
  return value instanceof PyTuple || value instanceof PyRange ? value.items : undefined;
}

function attributeOf(value: Value, name: string): Value | undefined {
  if (value instanceof PyNamespace) return value.attributes.get(name);
  // Whatever begins with an underscore and exists is refused by the sandbox; for data nothing of that name does, but for `__…__`.
  if (name.startsWith('_'))
    return name.startsWith('__') ? new PyUndefined(`access to ${name} is unsafe`) : undefined;
  if (value instanceof PyFunction) {
    if (value.attributeOf !== undefined) return value.attributeOf(name);
    return inexact('a field of a function');
  }
  if (value instanceof PyMarkup) return inexact('a method of markup');
  const method = methodOf(value, name);
  return typeof method === 'function' ? new PyFunction(name, method) : method;
}

function methodOf(value: Value, name: string): ((args: CallArguments) => Value) | PyUndefined | undefined {
  if (typeof value === 'string') return stringMethod(value, name);
  if (value instanceof PyDict) return dictMethod(value, name);
  if (Array.isArray(value)) {
    if (CHANGES_LIST.has(name)) return new PyUndefined(`access to ${name} of a list is unsafe`);
    if (name === 'copy') return () => [...value];
    return sequenceMethod(value, name);
  }
  if (value instanceof PyTuple) return sequenceMethod(value.items, name);
  if (value === null) return undefined;
  if (value instanceof PyView)
    return name === 'isdisjoint' || name === 'mapping' ? inexact(`a view's ${name}`) : undefined;
  if (typeof value === 'number' || typeof value === 'boolean' || value instanceof PyFloat)
    return NUMBER_ATTRIBUTES.test(name) ? inexact(`a number's ${name}`) : undefined;
  return inexact('a field of that type');
}

function sequenceMethod(items: readonly Value[], name: string): ((args: CallArguments) => Value) | undefined {
  if (name === 'count')
    return (args) => {
      const item = new Arguments(args, ['value']).value('value');
      return items.filter((one) => isEqual(one, item)).length;
    };
  if (name === 'index')
    return (args) => {
      const item = new Arguments(args, ['value']).value('value');
      const at = items.findIndex((one) => isEqual(one, item));
      return at === -1 ? refuse('it is not in the list') : at;
    };
  return undefined;
}

function dictMethod(dict: PyDict, name: string): ((args: CallArguments) => Value) | PyUndefined | undefined {
  if (CHANGES_DICT.has(name)) return new PyUndefined(`access to ${name} of a dict is unsafe`);
  const without =
    (make: () => Value) =>
    (args: CallArguments): Value => {
      new Arguments(args, []);
      return make();
    };
  switch (name) {
    case 'get':
      return (args) => {
        if (args.named.size > 0) return refuse('get() takes no keyword arguments');
        const given = new Arguments(args, ['key', 'default']);
        const found = dict.get(given.value('key'));
        return found === undefined ? given.value('default', null) : found;
      };
    case 'items':
    case 'keys':
    case 'values':
      return without(() => new PyView(dict, name));
    case 'copy':
      return without(() => {
        const copy = new PyDict();
        for (const [key, item] of dict.entries()) copy.set(key, item);
        return copy;
      });
    case 'fromkeys':
      return inexact('dict.fromkeys');
    default:
      return undefined;
  }
}
