/** The tests of Jinja2 3.1: `value is name`. */
import { Arguments, type Signature } from './arguments.js';
import { inexact, refuse } from './errors.js';
import { binary, compare, isEqual, isIn, isTrue, numberOf, stringOf, textOf } from './operators.js';
import { stringMethod } from './string-methods.js';
import {
  type CallArguments,
  PyDict,
  PyFloat,
  PyFunction,
  PyIterator,
  PyMarkup,
  PyNamespace,
  PyRange,
  PyTuple,
  PyUndefined,
  PyView,
  type Value,
} from './values.js';

type Test = (value: Value, args: Arguments) => boolean;

const order =
  (isRight: (sign: number) => boolean): Test =>
  (value, args) =>
    isRight(compare(value, args.value('other')));

const isInteger = (value: Value): boolean => typeof value === 'number';

function isSequence(value: Value): boolean {
  if (value instanceof PyNamespace) return inexact('whether a namespace is a sequence');
  return (
    stringOf(value) !== undefined ||
    Array.isArray(value) ||
    [PyDict, PyTuple, PyRange, PyUndefined].some((type) => value instanceof type)
  );
}

function isSame(value: Value, other: Value): boolean {
  const isSingle = (one: Value): boolean => one === null || typeof one === 'boolean';
  if (isSingle(value) || isSingle(other)) return value === other;
  return typeof value === 'object' && typeof other === 'object'
    ? value === other
    : inexact('the identity of such values');
}

const OTHER: Signature = ['other'];
const TESTS: Readonly<Record<string, readonly [Signature, Test]>> = {
  boolean: [[], (value) => typeof value === 'boolean'],
  // An undefined value can be called as far as Python knows.
  callable: [[], (value) => value instanceof PyFunction || value instanceof PyUndefined],
  defined: [[], (value) => !(value instanceof PyUndefined)],
  divisibleby: [['num'], (value, args) => binary('%', value, args.value('num')) === 0],
  eq: [OTHER, (value, args) => isEqual(value, args.value('other'))],
  escaped: [[], (value) => value instanceof PyMarkup],
  even: [[], (value) => binary('%', value, 2) === 0],
  false: [[], (value) => value === false],
  float: [[], (value) => value instanceof PyFloat],
  ge: [OTHER, order((sign) => sign >= 0)],
  gt: [OTHER, order((sign) => sign > 0)],
  in: [['seq'], (value, args) => isIn(value, args.value('seq'))],
  integer: [[], isInteger],
  iterable: [
    [],
    (value) =>
      isSequence(value instanceof PyNamespace ? null : value) ||
      value instanceof PyView ||
      value instanceof PyIterator,
  ],
  le: [OTHER, order((sign) => sign <= 0)],
  lower: [[], (value) => isTrue(caseTest(value, 'islower'))],
  lt: [OTHER, order((sign) => sign < 0)],
  mapping: [[], (value) => value instanceof PyDict],
  ne: [OTHER, (value, args) => !isEqual(value, args.value('other'))],
  none: [[], (value) => value === null],
  number: [[], (value) => numberOf(value) !== undefined],
  odd: [[], (value) => binary('%', value, 2) === 1],
  sameas: [OTHER, (value, args) => isSame(value, args.value('other'))],
  sequence: [[], isSequence],
  string: [[], (value) => stringOf(value) !== undefined],
  true: [[], (value) => value === true],
  undefined: [[], (value) => value instanceof PyUndefined],
  upper: [[], (value) => isTrue(caseTest(value, 'isupper'))],
};

const ALIASES: Readonly<Record<string, string>> = {
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  equalto: 'eq',
  greaterthan: 'gt',
  lessthan: 'lt',
};

function caseTest(value: Value, method: string): Value {
  return (stringMethod(textOf(value), method) as (args: CallArguments) => Value)({
    positional: [],
    named: new Map(),
  });
}

/** Whether Jinja2 has a test of that name. */
export function isTest(name: string): boolean {
  return Object.hasOwn(TESTS, ALIASES[name] ?? name) || name === 'filter' || name === 'test';
}

/** `value is name(…)`. */
export function runTest(name: string, value: Value, args: CallArguments): boolean {
  const real = ALIASES[name] ?? name;
  if (real === 'filter' || real === 'test') return inexact(`the test ${real}`);
  if (!Object.hasOwn(TESTS, real)) return refuse(`No test named ${name}`);
  const [signature, test] = TESTS[real] as (typeof TESTS)[string];
  return test(value, new Arguments(args, signature));
}
