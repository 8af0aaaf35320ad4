/** The functions that a chat template can call: those of Jinja2 and those of transformers. */
import { Arguments } from './arguments.js';
import { inexact, refuse } from './errors.js';
import { isEqual, iterate, textOf } from './operators.js';
import {
  type CallArguments,
  PyDict,
  PyFunction,
  PyNamespace,
  PyRange,
  PyTuple,
  PyUndefined,
  type Value,
} from './values.js';

/** Longest range that the sandbox makes. */
const MAX_RANGE = 100_000;

/** The globals of a template; `nowMs` is the wall clock, in milliseconds since 1970. */
export function makeGlobals(nowMs: () => number): ReadonlyMap<string, Value> {
  const functions: [string, (args: CallArguments) => Value][] = [
    ['range', makeRange],
    ['dict', makeDict],
    ['namespace', makeNamespace],
    [
      'raise_exception',
      (args) => refuse(textOf(new Arguments(args, ['message']).value('message')).slice(0, 500)),
    ],
    ['strftime_now', (args) => strftime(new Arguments(args, ['format']).text('format'), nowMs())],
    ['lipsum', () => inexact('lipsum')],
    ['cycler', () => inexact('cycler')],
    ['joiner', () => inexact('joiner')],
    ['self', () => inexact('self')],
  ];
  return new Map(functions.map(([name, call]) => [name, new PyFunction(name, call)]));
}

function makeRange({ positional, named }: CallArguments): Value {
  if (named.size > 0 || positional.length === 0 || positional.length > 3)
    return refuse('range expects 1 to 3 arguments');
  const args = new Arguments(
    { positional, named },
    positional.length === 1 ? ['stop'] : ['start', 'stop', 'step'],
  );
  const start = args.int('start', 0);
  const stop = args.int('stop');
  const step = args.int('step', 1);
  if (step === 0) return refuse('range() arg 3 must not be zero');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (count > MAX_RANGE) return refuse('Range too big.');
  return new PyRange(Array.from({ length: count }, (_, at) => start + at * step));
}

function makeDict({ positional, named }: CallArguments): PyDict {
  const dict = new PyDict();
  const [given, ...rest] = positional;
  if (rest.length > 0) return refuse('dict expected at most 1 argument');
  if (given instanceof PyDict) for (const [key, value] of given.entries()) dict.set(key, value);
  else if (given !== undefined) {
    for (const pair of iterate(given)) {
      const [key, value, ...more] = iterate(pair);
      if (key === undefined || value === undefined || more.length > 0)
        return refuse('a pair is needed for each key');
      dict.set(key, value);
    }
  }
  for (const [name, value] of named) dict.set(name, value);
  return dict;
}

function makeNamespace(args: CallArguments): PyNamespace {
  const namespace = new PyNamespace();
  for (const [key, value] of makeDict(args).entries()) {
    if (typeof key !== 'string' || key.startsWith('_')) return inexact('such a name in a namespace');
    namespace.attributes.set(key, value);
  }
  return namespace;
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
/** Around a change of the date, an engine's clock may be on its other side. */
const CLOCK_DOUBT_MS = 60_000;

/**
 * `datetime.now().strftime(format)`, where an engine must come to the same: not
 * within a minute of midnight or with a time of day, and not where the date of
 * this host is another one than that of UTC, by which containers go.
 */
function strftime(format: string, nowMs: number): string {
  const here = formatDate(format, new Date(nowMs), false);
  const others = [-CLOCK_DOUBT_MS, CLOCK_DOUBT_MS].map((ms) =>
    formatDate(format, new Date(nowMs + ms), true),
  );
  return others.every((text) => text === here) ? here : inexact('a date or time that is about to change');
}

function formatDate(format: string, date: Date, isUtc: boolean): string {
  const year = isUtc ? date.getUTCFullYear() : date.getFullYear();
  const month = isUtc ? date.getUTCMonth() : date.getMonth();
  const day = isUtc ? date.getUTCDate() : date.getDate();
  const weekday = DAYS[isUtc ? date.getUTCDay() : date.getDay()] as string;
  const name = MONTHS[month] as string;
  const two = (value: number): string => String(value).padStart(2, '0');
  const dayOfYear = Math.round((Date.UTC(year, month, day) - Date.UTC(year, 0, 1)) / 86_400_000) + 1;
  const known: Readonly<Record<string, string>> = {
    '%': '%',
    A: weekday,
    a: weekday.slice(0, 3),
    B: name,
    b: name.slice(0, 3),
    d: two(day),
    '-d': String(day),
    e: String(day).padStart(2, ' '),
    F: `${year}-${two(month + 1)}-${two(day)}`,
    j: String(dayOfYear).padStart(3, '0'),
    m: two(month + 1),
    '-m': String(month + 1),
    Y: String(year),
    y: two(year % 100),
  };
  return format.replace(
    /%(-?.?)/gs,
    (whole, code: string) => known[code] ?? inexact(`the date format ${whole}`),
  );
}

/** What `loop` is in the body of a loop: `peek` looks at the item that comes next. */
export function makeLoop(state: {
  readonly index0: number;
  readonly items: () => number;
  readonly previous: Value | undefined;
  readonly current: Value;
  readonly peek: () => Value | undefined;
  readonly lastChanged: { value: readonly Value[] | undefined };
}): PyFunction {
  const outside = (what: string): PyUndefined => new PyUndefined(`there is no ${what} item`);
  const attributeOf = (name: string): Value | undefined => {
    switch (name) {
      case 'index0':
        return state.index0;
      case 'index':
        return state.index0 + 1;
      case 'first':
        return state.index0 === 0;
      case 'last':
        return state.peek() === undefined;
      case 'length':
        return state.items();
      case 'revindex':
        return state.items() - state.index0;
      case 'revindex0':
        return state.items() - state.index0 - 1;
      case 'previtem':
        return state.previous === undefined ? outside('previous') : state.previous;
      case 'nextitem': {
        const next = state.peek();
        return next === undefined ? outside('next') : next;
      }
      case 'depth':
        return 1;
      case 'depth0':
        return 0;
      case 'cycle':
        return new PyFunction('cycle', ({ positional }) =>
          positional.length === 0
            ? refuse('no items for cycling given')
            : (positional[state.index0 % positional.length] as Value),
        );
      case 'changed':
        return new PyFunction('changed', ({ positional }) => {
          const before = state.lastChanged.value;
          const isSame = before !== undefined && isEqual(new PyTuple(before), new PyTuple(positional));
          state.lastChanged.value = positional;
          return !isSame;
        });
      default:
        return undefined;
    }
  };
  return new PyFunction(
    'loop',
    () => refuse('The loop must have the recursive marker to be called recursively.'),
    attributeOf,
  );
}
