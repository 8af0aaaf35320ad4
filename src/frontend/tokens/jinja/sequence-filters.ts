/** The filters of Jinja2 that go through a sequence or a dict. */
import type { Arguments } from './arguments.js';
import { getItem } from './attributes.js';
import { inexact, refuse } from './errors.js';
import { binary, compare, isTrue, iterate, textOf } from './operators.js';
import { characters, checkLength } from './text.js';
import { PyDict, PyIterator, PyMarkup, PyTuple, PyUndefined, type Value } from './values.js';

/** What picks a field by its path: `function.name`, `0`. */
export function getter(path: Value, byDefault: Value = null): (item: Value) => Value {
  const parts =
    typeof path === 'string'
      ? path.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      : [path];
  return (item) => {
    let found = item;
    for (const part of parts) {
      // `environment.getitem`: the item first.
      found = getItem(found, part);
      if (byDefault !== null && found instanceof PyUndefined) found = byDefault;
    }
    return found;
  };
}

/** Without `case_sensitive` texts are compared in lower case. */
function ignoringCase(value: Value, isSensitive: boolean): Value {
  return !isSensitive && typeof value === 'string' ? value.toLowerCase() : value;
}

function sorted(items: readonly Value[], keyOf: (item: Value) => Value, isReversed: boolean): Value[] {
  const keyed = items.map((item) => [keyOf(item), item] as const);
  keyed.sort(([a], [b]) => (isReversed ? compare(b, a) : compare(a, b)));
  return keyed.map(([, item]) => item);
}

/** The filters `min` (`sign` -1) and `max` (1). */
export function extreme(value: Value, args: Arguments, sign: number): Value {
  const isSensitive = isTrue(args.value('case_sensitive', false));
  const attribute = args.value('attribute', null);
  const field = attribute === null ? (item: Value): Value => item : getter(attribute);
  const keyOf = (item: Value): Value => ignoringCase(field(item), isSensitive);
  let best: Value | undefined;
  for (const item of iterate(value)) {
    if (best === undefined || compare(keyOf(item), keyOf(best)) * sign > 0) best = item;
  }
  return best === undefined ? new PyUndefined('No aggregated item, sequence was empty.') : best;
}

/** The filter `join`. */
export function joined(value: Value, args: Arguments): string {
  const attribute = args.value('attribute', null);
  const field = attribute === null ? (item: Value): Value => item : getter(attribute);
  const parts = Array.from(iterate(value), (item) => textOf(field(item)));
  const separator = textOf(args.value('d', ''));
  checkLength(parts.reduce((sum, part) => sum + part.length + separator.length, 0));
  return parts.join(separator);
}

/** The filter `dictsort`. */
export function dictSort(value: Value, args: Arguments): Value[] {
  if (!(value instanceof PyDict)) return refuse('dictsort needs a dict');
  const by = args.text('by', 'key');
  if (by !== 'key' && by !== 'value') return refuse('You can only sort by either "key" or "value"');
  const isSensitive = isTrue(args.value('case_sensitive', false));
  const entries = [...value.entries()].map((entry) => new PyTuple(entry));
  const keyOf = (entry: Value): Value =>
    ignoringCase((entry as PyTuple).items[by === 'key' ? 0 : 1] as Value, isSensitive);
  return sorted(entries, keyOf, isTrue(args.value('reverse', false)));
}

/** The filter `sort`. */
export function sort(value: Value, args: Arguments): Value[] {
  const isSensitive = isTrue(args.value('case_sensitive', false));
  const attribute = args.value('attribute', null);
  const fields = typeof attribute === 'string' ? attribute.split(',').map((one) => getter(one)) : undefined;
  if (fields === undefined && attribute !== null) return inexact('sort by such an attribute');
  const keyOf = (item: Value): Value =>
    fields === undefined
      ? ignoringCase(item, isSensitive)
      : fields.map((field) => ignoringCase(field(item), isSensitive));
  return sorted([...iterate(value)], keyOf, isTrue(args.value('reverse', false)));
}

/** The filter `unique`. */
export function* unique(value: Value, args: Arguments): Generator<Value> {
  const isSensitive = isTrue(args.value('case_sensitive', false));
  const attribute = args.value('attribute', null);
  const field = attribute === null ? (item: Value): Value => item : getter(attribute);
  const seen = new PyDict();
  for (const item of iterate(value)) {
    const key = ignoringCase(field(item), isSensitive);
    if (seen.has(key)) continue;
    seen.set(key, null);
    yield item;
  }
}

/** The filter `reverse`. */
export function reversed(value: Value): Value {
  if (typeof value === 'string') return Array.from(characters(value)).reverse().join('');
  if (value instanceof PyMarkup) return inexact('reversed markup');
  return new PyIterator([...iterate(value)].reverse()[Symbol.iterator]());
}

/** The filter `sum`. */
export function sum(value: Value, args: Arguments): Value {
  const attribute = args.value('attribute', null);
  const field = attribute === null ? (item: Value): Value => item : getter(attribute);
  let total = args.value('start', 0);
  if (typeof total === 'string') return refuse("sum() can't sum strings");
  for (const item of iterate(value)) total = binary('+', total, field(item));
  return total;
}
