/** The methods of Python's `str`. */
import { Arguments, type Signature } from './arguments.js';
import { inexact, refuse } from './errors.js';
import { formatText } from './format-text.js';
import { iterate, stringOf } from './operators.js';
import { characters, checkLength, isSpace, lengthOf, SPACE_RUN, slice, splitLines, strip } from './text.js';
import { type CallArguments, PyTuple, type Value } from './values.js';

type Method = (text: string, args: Arguments) => Value;

/** Letters that have another form as the first of a word than `toUpperCase` gives. */
const TITLE_FORMS =
  /[\u01c4-\u01cc\u01f1-\u01f3\u0149\u00df\u01f0\u0390\u03b0\u0587\u1e96-\u1e9a\u1f50-\u1fff\ufb00-\ufb17\u10d0-\u10ff]/;

/** `str.capitalize`. */
export function capitalize(text: string): string {
  const [first = ''] = text;
  return titleOf(first) + text.slice(first.length).toLowerCase();
}

/** The first letter of a word. */
export function titleOf(letter: string): string {
  return TITLE_FORMS.test(letter) ? inexact('the title case of that letter') : letter.toUpperCase();
}

/** `str.replace(old, new, count)`; a negative count replaces all. */
export function replace(text: string, old: string, by: string, count: number): string {
  const pieces = old === '' ? ['', ...characters(text), ''] : text.split(old);
  const times = count < 0 ? pieces.length - 1 : Math.min(count, pieces.length - 1);
  checkLength(text.length + times * by.length);
  if (times === pieces.length - 1) return pieces.join(by);
  return pieces.slice(0, times + 1).join(by) + old + pieces.slice(times + 1).join(old);
}

function split(text: string, separator: string | null, most: number, fromRight: boolean): string[] {
  if (separator === '') return refuse('empty separator');
  const isAll = most < 0;
  if (separator !== null) {
    const pieces = text.split(separator);
    if (isAll || pieces.length - 1 <= most) return pieces;
    const at = fromRight ? pieces.length - most : most;
    return fromRight
      ? [pieces.slice(0, at).join(separator), ...pieces.slice(at)]
      : [...pieces.slice(0, at), pieces.slice(at).join(separator)];
  }
  const whole = strip(text, null);
  if (whole === '') return [];
  const pieces = whole.split(SPACE_RUN);
  if (isAll || pieces.length - 1 <= most) return pieces;
  if (fromRight) return inexact('rsplit at whitespace with a bound');
  const kept: string[] = [];
  let rest = strip(text, null, 'left');
  for (let i = 0; i < most; i += 1) {
    const piece = pieces[i] as string;
    kept.push(piece);
    rest = strip(rest.slice(piece.length), null, 'left');
  }
  return rest === '' ? kept : [...kept, rest];
}

function partition(text: string, separator: string, fromRight: boolean): PyTuple {
  if (separator === '') return refuse('empty separator');
  const at = fromRight ? text.lastIndexOf(separator) : text.indexOf(separator);
  if (at === -1) return new PyTuple(fromRight ? ['', '', text] : [text, '', '']);
  return new PyTuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
}

/** The part between `start` and `end`, by code points, and where it begins. */
function range(text: string, args: Arguments): { readonly part: string; readonly from: number } | undefined {
  const all = characters(text);
  const place = (name: string, byDefault: number): number => {
    const given = args.value(name, null);
    if (given === null) return byDefault;
    const at = args.int(name);
    return at < 0 ? Math.max(at + all.length, 0) : at;
  };
  const from = place('start', 0);
  const to = Math.min(place('end', all.length), all.length);
  return from > to ? undefined : { part: slice(all, from, to), from };
}

function find(text: string, args: Arguments, fromRight: boolean): number {
  const searched = args.text('sub');
  const inRange = range(text, args);
  if (inRange === undefined) return -1;
  const { part, from } = inRange;
  const at = fromRight ? part.lastIndexOf(searched) : part.indexOf(searched);
  return at === -1 ? -1 : from + lengthOf(part.slice(0, at));
}

function hasEnd(text: string, args: Arguments, isAt: (part: string, word: string) => boolean): boolean {
  const given = args.value('words');
  const words = given instanceof PyTuple ? given.items : [given];
  const texts = words.map((word) => stringOf(word) ?? refuse('must be str or a tuple of str'));
  const inRange = range(text, args);
  return inRange !== undefined && texts.some((word) => isAt(inRange.part, word));
}

function pad(text: string, args: Arguments, side: 'left' | 'right' | 'both'): string {
  const fill = args.text('fill', ' ');
  if (lengthOf(fill) !== 1) refuse('The fill character must be exactly one character long');
  const width = args.int('width');
  const missing = width - lengthOf(text);
  if (missing <= 0) return text;
  checkLength(width);
  const left = side === 'left' ? missing : side === 'right' ? 0 : (missing >> 1) + (missing & width & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/** Tests of all characters are certain for ASCII alone: what a letter is depends on the Unicode version. */
function isAll(rule: RegExp): Method {
  return (text) =>
    /^[\0-\x7f]*$/.test(text) ? rule.test(text) : inexact('a test of characters beyond ASCII');
}

const METHODS: Readonly<Record<string, readonly [Signature, Method]>> = {
  capitalize: [[], (text) => capitalize(text)],
  center: [['width', 'fill'], (text, args) => pad(text, args, 'both')],
  count: [
    ['sub', 'start', 'end'],
    (text, args) => {
      const inRange = range(text, args);
      const searched = args.text('sub');
      if (inRange === undefined) return 0;
      return searched === '' ? lengthOf(inRange.part) + 1 : inRange.part.split(searched).length - 1;
    },
  ],
  endswith: [
    ['words', 'start', 'end'],
    (text, args) => hasEnd(text, args, (part, word) => part.endsWith(word)),
  ],
  find: [['sub', 'start', 'end'], (text, args) => find(text, args, false)],
  index: [
    ['sub', 'start', 'end'],
    (text, args) => {
      const at = find(text, args, false);
      return at === -1 ? refuse('substring not found') : at;
    },
  ],
  isalnum: [[], isAll(/^[A-Za-z0-9]+$/)],
  isalpha: [[], isAll(/^[A-Za-z]+$/)],
  isascii: [[], (text) => /^[\0-\x7f]*$/.test(text)],
  isdecimal: [[], isAll(/^[0-9]+$/)],
  isdigit: [[], isAll(/^[0-9]+$/)],
  islower: [[], isAll(/^[^A-Z]*[a-z][^A-Z]*$/)],
  isnumeric: [[], isAll(/^[0-9]+$/)],
  isspace: [[], (text) => text !== '' && [...text].every(isSpace)],
  isupper: [[], isAll(/^[^a-z]*[A-Z][^a-z]*$/)],
  join: [['items'], (text, args) => joined(text, args.value('items'))],
  ljust: [['width', 'fill'], (text, args) => pad(text, args, 'right')],
  lower: [[], (text) => text.toLowerCase()],
  lstrip: [['set'], (text, args) => strip(text, args.optionalText('set'), 'left')],
  partition: [['separator'], (text, args) => partition(text, args.text('separator'), false)],
  removeprefix: [
    ['part'],
    (text, args) => (text.startsWith(args.text('part')) ? text.slice(args.text('part').length) : text),
  ],
  removesuffix: [
    ['part'],
    (text, args) =>
      text.endsWith(args.text('part')) ? text.slice(0, text.length - args.text('part').length) : text,
  ],
  replace: [
    ['old', 'new', 'count'],
    (text, args) => replace(text, args.text('old'), args.text('new'), args.int('count', -1)),
  ],
  rfind: [['sub', 'start', 'end'], (text, args) => find(text, args, true)],
  rindex: [
    ['sub', 'start', 'end'],
    (text, args) => {
      const at = find(text, args, true);
      return at === -1 ? refuse('substring not found') : at;
    },
  ],
  rjust: [['width', 'fill'], (text, args) => pad(text, args, 'left')],
  rpartition: [['separator'], (text, args) => partition(text, args.text('separator'), true)],
  rsplit: [
    ['sep', 'maxsplit'],
    (text, args) => split(text, args.optionalText('sep'), args.int('maxsplit', -1), true),
  ],
  rstrip: [['set'], (text, args) => strip(text, args.optionalText('set'), 'right')],
  split: [
    ['sep', 'maxsplit'],
    (text, args) => split(text, args.optionalText('sep'), args.int('maxsplit', -1), false),
  ],
  splitlines: [
    ['keepends'],
    (text, args) => (args.has('keepends') ? inexact('splitlines with line ends') : splitLines(text)),
  ],
  startswith: [
    ['words', 'start', 'end'],
    (text, args) => hasEnd(text, args, (part, word) => part.startsWith(word)),
  ],
  strip: [['set'], (text, args) => strip(text, args.optionalText('set'))],
  title: [
    [],
    (text) =>
      /^[\0-\x7f]*$/.test(text)
        ? text.replace(/[A-Za-z]+/g, (word) => capitalize(word))
        : inexact('title() beyond ASCII'),
  ],
  upper: [[], (text) => text.toUpperCase()],
  zfill: [
    ['width'],
    (text, args) => {
      const sign = /^[+-]/.test(text) ? (text[0] as string) : '';
      const missing = args.int('width') - lengthOf(text);
      checkLength(missing);
      return missing <= 0 ? text : sign + '0'.repeat(missing) + text.slice(sign.length);
    },
  ],
};

/** `separator.join(items)`. */
function joined(separator: string, given: Value): string {
  const items = [...iterate(given)].map((item) => stringOf(item) ?? refuse('expected str instance'));
  checkLength(items.reduce((sum, item) => sum + item.length + separator.length, 0));
  return items.join(separator);
}

/** Methods of `str` that templates have no use for. */
const OTHERS: ReadonlySet<string> = new Set([
  'casefold',
  'encode',
  'expandtabs',
  'format_map',
  'isidentifier',
  'isprintable',
  'istitle',
  'maketrans',
  'swapcase',
  'translate',
]);

/** Calls a method of a text; undefined when there is none of that name. */
export function stringMethod(text: string, name: string): ((args: CallArguments) => Value) | undefined {
  if (OTHERS.has(name)) return inexact(`str.${name}`);
  if (name === 'format') return (args) => formatText(text, args);
  if (!Object.hasOwn(METHODS, name)) return undefined;
  const [signature, method] = METHODS[name] as (typeof METHODS)[string];
  return (args) => method(text, new Arguments(args, signature));
}
