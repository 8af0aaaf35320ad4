/** The filters of Jinja2 3.1, with the `tojson` of transformers. */
import { Arguments, NOTHING_GIVEN, type Signature } from './arguments.js';
import { getAttribute } from './attributes.js';
import { inexact, refuse } from './errors.js';
import { percentFormat } from './format-text.js';
import { dumpJson, dumpOptions } from './json-dumps.js';
import { int, isTrue, iterate, length, numberOf, stringOf, textOf } from './operators.js';
import { dictSort, extreme, getter, joined, reversed, sort, sum, unique } from './sequence-filters.js';
import { capitalize, replace, stringMethod, titleOf } from './string-methods.js';
import { runTest } from './tests.js';
import { checkLength, escapeHtml, splitLines, strip } from './text.js';
import {
  type CallArguments,
  PyDict,
  PyFloat,
  PyIterator,
  PyMarkup,
  PyUndefined,
  PyView,
  type Value,
} from './values.js';

type Filter = (value: Value, args: Arguments) => Value;

/** `soft_str`; what becomes of marked text in filters of texts is left to others. */
function soft(value: Value): string {
  return value instanceof PyMarkup ? inexact('a filter of markup') : textOf(value);
}

function indent(value: Value, args: Arguments): string {
  const width = args.value('width', 4);
  if (typeof width === 'number') checkLength(width);
  const by = typeof width === 'number' ? ' '.repeat(Math.max(width, 0)) : args.text('width');
  const lines = splitLines(`${soft(value)}\n`);
  checkLength(lines.length * by.length);
  const isBlank = isTrue(args.value('blank', false));
  const made = lines.map((line, at) => (at > 0 && (line !== '' || isBlank) ? by + line : line)).join('\n');
  return isTrue(args.value('first', false)) ? by + made : made;
}

function toInt(value: Value, args: Arguments): Value {
  const byDefault = args.value('default', 0);
  if (args.has('base')) return inexact('int with a base');
  if (value instanceof PyUndefined) return value.fail();
  const number = numberOf(value);
  if (number !== undefined)
    return Number.isFinite(number) ? int(Math.trunc(number)) : inexact('int of infinity');
  const text = stringOf(value);
  if (text === undefined) return byDefault;
  if (!/^[\x20-\x7e]*$/.test(text) || /_|inf|nan/i.test(text)) return inexact('int of that text');
  const trimmed = text.trim();
  if (/^[+-]?\d+$/.test(trimmed)) return int(Number(trimmed));
  return FLOAT.test(trimmed) ? int(Math.trunc(Number(trimmed))) : byDefault;
}

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function toFloat(value: Value, args: Arguments): Value {
  if (value instanceof PyUndefined) return value.fail();
  const number = numberOf(value);
  if (number !== undefined) return new PyFloat(number);
  const text = stringOf(value);
  if (text === undefined) return args.value('default', new PyFloat(0));
  if (!/^[\x20-\x7e]*$/.test(text) || /_|inf|nan/i.test(text)) return inexact('float of that text');
  return FLOAT.test(text.trim()) ? new PyFloat(Number(text.trim())) : args.value('default', new PyFloat(0));
}

function round(value: Value, args: Arguments): Value {
  const number = numberOf(value);
  if (number === undefined) return refuse('it is no number');
  if (args.has('precision') || args.has('method') || !(value instanceof PyFloat))
    return inexact('such a rounding');
  const isHalf = Math.abs(number % 1) === 0.5;
  return new PyFloat(isHalf ? 2 * Math.round(number / 2) : Math.round(number));
}

const upTo =
  (name: string): Filter =>
  (value) =>
    (stringMethod(soft(value), name) as (args: CallArguments) => Value)(NOTHING_GIVEN);

const FILTERS: Readonly<Record<string, readonly [Signature, Filter]>> = {
  abs: [
    [],
    (value) => {
      const number = numberOf(value) ?? refuse('bad operand type for abs()');
      return value instanceof PyFloat ? new PyFloat(Math.abs(number)) : Math.abs(number);
    },
  ],
  attr: [
    ['name'],
    (value, args) =>
      value instanceof PyDict ? inexact('attr of a dict') : getAttribute(value, args.text('name')),
  ],
  capitalize: [[], (value) => capitalize(soft(value))],
  center: [
    ['width'],
    (value, args) =>
      (stringMethod(soft(value), 'center') as (given: CallArguments) => Value)({
        positional: [args.value('width', 80)],
        named: new Map(),
      }),
  ],
  default: [
    ['default_value', 'boolean'],
    (value, args) => {
      const isMissing =
        value instanceof PyUndefined || (isTrue(args.value('boolean', false)) && !isTrue(value));
      return isMissing ? args.value('default_value', '') : value;
    },
  ],
  dictsort: [['case_sensitive', 'by', 'reverse'], dictSort],
  escape: [[], (value) => (value instanceof PyMarkup ? value : new PyMarkup(escapeHtml(textOf(value))))],
  first: [
    [],
    (value) => {
      for (const item of iterate(value)) return item;
      return new PyUndefined('No first item, sequence was empty.');
    },
  ],
  float: [['default'], toFloat],
  indent: [['width', 'first', 'blank'], indent],
  int: [['default', 'base'], toInt],
  items: [
    [],
    (value) => {
      if (value instanceof PyUndefined) return new PyIterator([][Symbol.iterator]());
      return value instanceof PyDict
        ? new PyIterator(new PyView(value, 'items').items()[Symbol.iterator]())
        : refuse('Can only get item pairs from a mapping.');
    },
  ],
  join: [['d', 'attribute'], joined],
  last: [
    [],
    (value) => {
      if (value instanceof PyIterator) return refuse('it is not reversible');
      const last = [...iterate(value)].at(-1);
      return last === undefined ? new PyUndefined('No last item, sequence was empty.') : last;
    },
  ],
  length: [[], (value) => length(value)],
  list: [[], (value) => [...iterate(value)]],
  lower: [[], upTo('lower')],
  max: [['case_sensitive', 'attribute'], (value, args) => extreme(value, args, 1)],
  min: [['case_sensitive', 'attribute'], (value, args) => extreme(value, args, -1)],
  replace: [
    ['old', 'new', 'count'],
    (value, args) => {
      const count = args.value('count', null) === null ? -1 : args.int('count');
      const [old, by] = [args.value('old'), args.value('new')];
      if (old instanceof PyMarkup || by instanceof PyMarkup) return inexact('a replacement by markup');
      return replace(soft(value), textOf(old), textOf(by), count);
    },
  ],
  reverse: [[], reversed],
  round: [['precision', 'method'], round],
  safe: [[], (value) => (value instanceof PyMarkup ? value : new PyMarkup(textOf(value)))],
  sort: [['reverse', 'case_sensitive', 'attribute'], sort],
  string: [[], (value) => (value instanceof PyMarkup ? value : textOf(value))],
  sum: [['attribute', 'start'], sum],
  title: [
    [],
    (value) =>
      soft(value)
        .split(/([-\s({[<]+)/)
        .filter((item) => item !== '')
        .map((item) => {
          const [first = ''] = item;
          return titleOf(first) + item.slice(first.length).toLowerCase();
        })
        .join(''),
  ],
  tojson: [
    ['ensure_ascii', 'indent', 'separators', 'sort_keys'],
    (value, args) =>
      dumpJson(
        value,
        dumpOptions(
          args.value('indent', null),
          args.value('separators', null),
          args.value('ensure_ascii', false),
          args.value('sort_keys', false),
        ),
      ),
  ],
  trim: [['chars'], (value, args) => strip(soft(value), args.optionalText('chars'))],
  unique: [['case_sensitive', 'attribute'], (value, args) => new PyIterator(unique(value, args))],
  upper: [[], upTo('upper')],
};

const ALIASES: Readonly<Record<string, string>> = { count: 'length', d: 'default', e: 'escape' };
/** Filters of Jinja2 that chat templates have no use for. */
const OTHERS: ReadonlySet<string> = new Set([
  'batch',
  'filesizeformat',
  'forceescape',
  'groupby',
  'pprint',
  'random',
  'slice',
  'striptags',
  'truncate',
  'urlencode',
  'urlize',
  'wordcount',
  'wordwrap',
  'xmlattr',
]);
/** Those that take other filters and tests, or any number of arguments. */
const HIGHER: ReadonlySet<string> = new Set([
  'format',
  'map',
  'reject',
  'rejectattr',
  'select',
  'selectattr',
]);

/** Whether Jinja2 has a filter of that name. */
export function isFilter(name: string): boolean {
  return Object.hasOwn(FILTERS, name) || Object.hasOwn(ALIASES, name) || OTHERS.has(name) || HIGHER.has(name);
}

/** `value|name(…)`. */
export function runFilter(name: string, value: Value, args: CallArguments): Value {
  const real = ALIASES[name] ?? name;
  if (Object.hasOwn(FILTERS, real)) {
    const [signature, filter] = FILTERS[real] as (typeof FILTERS)[string];
    return filter(value, new Arguments(args, signature));
  }
  if (OTHERS.has(real)) return inexact(`the filter ${real}`);
  if (real === 'format') {
    if (args.named.size > 0) return inexact('format with names');
    return percentFormat(soft(value), args.positional);
  }
  if (real === 'map') return new PyIterator(mapped(value, args));
  if (HIGHER.has(real)) return new PyIterator(selected(real, value, args));
  return refuse(`No filter named ${name}`);
}

/** As `select` and `reject`, it makes nothing of what is false: None and 0 too, which cannot be gone through. */
function* mapped(value: Value, { positional, named }: CallArguments): Generator<Value> {
  if (!isTrue(value)) return;
  const [name, ...rest] = positional;
  if (name === undefined) {
    const args = new Arguments({ positional, named }, ['attribute', 'default']);
    const field = getter(args.value('attribute'), args.value('default', null));
    for (const item of iterate(value)) yield field(item);
    return;
  }
  const filter = stringOf(name) ?? refuse('map requires a filter argument');
  for (const item of iterate(value)) yield runFilter(filter, item, { positional: rest, named });
}

function* selected(filter: string, value: Value, { positional, named }: CallArguments): Generator<Value> {
  if (!isTrue(value)) return;
  const isKept = filter.startsWith('select');
  const rest = [...positional];
  const field = filter.endsWith('attr')
    ? getter(rest.shift() ?? refuse('Missing parameter for attribute name'))
    : (item: Value): Value => item;
  const name = rest.shift();
  const test = name === undefined ? undefined : (stringOf(name) ?? refuse('a test must be named'));
  for (const item of iterate(value)) {
    const tested = field(item);
    const passes = test === undefined ? isTrue(tested) : runTest(test, tested, { positional: rest, named });
    if (passes === isKept) yield item;
  }
}
