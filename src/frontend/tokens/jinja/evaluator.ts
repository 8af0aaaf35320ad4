import { getAttribute, getItem, getSlice } from './attributes.js';
import { inexact, refuse } from './errors.js';
import { runFilter } from './filters.js';
import type { CallNode, Expression } from './nodes.js';
import { binary, compare, isEqual, isIn, isTrue, iterate, numberOf, stringOf, textOf } from './operators.js';
import type { Scope } from './scope.js';
import { runTest } from './tests.js';
import { checkLength } from './text.js';
import {
  type CallArguments,
  PyDict,
  PyFloat,
  PyFunction,
  PyTuple,
  PyUndefined,
  type Value,
} from './values.js';

/** Statements and expressions that one rendering may take; a conversation of 10,000 messages takes a million or two. */
const MAX_STEPS = 50_000_000;
/** Evaluates the expressions of one rendering, and counts its steps. */
export class Evaluator {
  #steps = 0;

  /** Throws when a rendering takes too many. */
  step(): void {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS) inexact('a template that takes so many steps');
  }

  /** Filters whose innermost value is the text of a block. */
  filtered(filter: Expression | undefined, text: string, scope: Scope): Value {
    if (filter === undefined) return text;
    if (filter.type !== 'Filter') return this.value(filter, scope);
    const inner = filter.node === undefined ? text : this.filtered(filter.node, text, scope);
    return runFilter(filter.name, inner, this.arguments(filter.args, scope));
  }

  /** The arguments of a call. */
  arguments(args: CallNode, scope: Scope): CallArguments {
    const positional = args.positional.map((one) => this.value(one, scope));
    const named = new Map(args.named.map(([name, one]) => [name, this.value(one, scope)]));
    if (named.size !== args.named.length) return refuse('keyword argument repeated');
    if (args.star !== undefined) positional.push(...iterate(this.value(args.star, scope)));
    if (args.doubleStar !== undefined) {
      const more = this.value(args.doubleStar, scope);
      if (!(more instanceof PyDict)) return refuse('argument after ** must be a mapping');
      for (const [key, value] of more.entries())
        named.set(stringOf(key) ?? refuse('keywords must be strings'), value);
    }
    return { positional, named };
  }

  /** The value of an expression. */
  value(node: Expression, scope: Scope): Value {
    this.step();
    switch (node.type) {
      case 'Const':
        return node.value;
      case 'Name':
        return scope.get(node.name);
      case 'List':
        return node.items.map((item) => this.value(item, scope));
      case 'Tuple':
        return new PyTuple(node.items.map((item) => this.value(item, scope)));
      case 'Dict': {
        const dict = new PyDict();
        for (const [key, value] of node.items) dict.set(this.value(key, scope), this.value(value, scope));
        return dict;
      }
      case 'Getattr':
        return getAttribute(this.value(node.node, scope), node.attribute);
      case 'Getitem':
        return this.#item(node, scope);
      case 'Slice':
        return refuse('a slice is no value');
      case 'Call': {
        const called = this.value(node.node, scope);
        return callValue(called, this.arguments(node.args, scope));
      }
      case 'Filter': {
        if (node.node === undefined) return refuse('a filter without a value');
        const value = this.value(node.node, scope);
        return runFilter(node.name, value, this.arguments(node.args, scope));
      }
      case 'Test': {
        const value = this.value(node.node, scope);
        return runTest(node.name, value, this.arguments(node.args, scope));
      }
      case 'Not':
        return !isTrue(this.value(node.node, scope));
      case 'Negative':
      case 'Positive':
        return signed(this.value(node.node, scope), node.type === 'Negative' ? -1 : 1);
      case 'And': {
        const left = this.value(node.left, scope);
        return isTrue(left) ? this.value(node.right, scope) : left;
      }
      case 'Or': {
        const left = this.value(node.left, scope);
        return isTrue(left) ? left : this.value(node.right, scope);
      }
      case 'Conditional': {
        if (isTrue(this.value(node.test, scope))) return this.value(node.value, scope);
        return node.otherwise === undefined
          ? new PyUndefined('the inline if-expression evaluated to false and no else section was defined')
          : this.value(node.otherwise, scope);
      }
      case 'Binary':
        return binary(node.op, this.value(node.left, scope), this.value(node.right, scope));
      case 'Concat': {
        const parts = node.items.map((item) => textOf(this.value(item, scope)));
        checkLength(parts.reduce((sum, part) => sum + part.length, 0));
        return parts.join('');
      }
      case 'Compare':
        return this.#compared(node, scope);
    }
  }

  #item(node: Expression & { readonly type: 'Getitem' }, scope: Scope): Value {
    const value = this.value(node.node, scope);
    const { item } = node;
    if (item.type !== 'Slice') return getItem(value, this.value(item, scope));
    const [start, stop, step] = [item.start, item.stop, item.step].map((part) =>
      part === undefined ? null : this.value(part, scope),
    );
    return getSlice(value, start ?? null, stop ?? null, step ?? null);
  }

  #compared(node: Expression & { readonly type: 'Compare' }, scope: Scope): boolean {
    let left = this.value(node.left, scope);
    for (const [op, expression] of node.rest) {
      const right = this.value(expression, scope);
      if (!holds(op, left, right)) return false;
      left = right;
    }
    return true;
  }
}

function holds(op: string, left: Value, right: Value): boolean {
  switch (op) {
    case '==':
      return isEqual(left, right);
    case '!=':
      return !isEqual(left, right);
    case 'in':
      return isIn(left, right);
    case 'not in':
      return !isIn(left, right);
    case '<':
      return compare(left, right) < 0;
    case '<=':
      return compare(left, right) <= 0;
    case '>':
      return compare(left, right) > 0;
    default:
      return compare(left, right) >= 0;
  }
}

function signed(value: Value, sign: number): Value {
  const number = numberOf(value) ?? refuse('bad operand type for unary -');
  return value instanceof PyFloat ? new PyFloat(sign * number) : sign * number + 0;
}

/** Calls what can be called. */
export function callValue(called: Value, args: CallArguments): Value {
  if (called instanceof PyUndefined) return called.fail();
  return called instanceof PyFunction ? called.call(args) : refuse('it is not callable');
}
