import { inexact, refuse } from './errors.js';
import { type Token, unquote } from './lexer.js';
import type { CallNode, Expression } from './nodes.js';
import { PyFloat, type Value } from './values.js';

const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='];
const CONSTANTS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);

/** Reads the tokens of a template one after the other, and expressions from them, by the grammar of Jinja2 3.1. */
export class ExpressionParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get current(): Token {
    return this.#tokens[this.#at] as Token;
  }

  next(): Token {
    const token = this.current;
    if (token.type !== 'end') this.#at += 1;
    return token;
  }

  look(): Token {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)] as Token;
  }

  isOperator(...values: string[]): boolean {
    return this.current.type === 'operator' && values.includes(this.current.value);
  }

  isName(...values: string[]): boolean {
    return this.current.type === 'name' && values.includes(this.current.value);
  }

  /** Takes the operator or the word when it is there. */
  skip(value: string): boolean {
    const isThere = this.isOperator(value) || this.isName(value);
    if (isThere) this.#at += 1;
    return isThere;
  }

  expect(value: string): void {
    if (!this.skip(value)) refuse(`expected ${value}, got ${this.current.value || this.current.type}`);
  }

  expectType(type: Token['type']): Token {
    return this.current.type === type
      ? this.next()
      : refuse(`expected ${type}, got ${this.current.value || this.current.type}`);
  }

  /** One expression, or several with commas between them as a tuple. */
  tuple(
    options: {
      readonly withCondition?: boolean;
      readonly isInParentheses?: boolean;
      readonly end?: string;
    } = {},
  ): Expression {
    const items: Expression[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) this.expect(',');
      if (this.#isTupleEnd(options.end)) break;
      items.push(this.expression(options.withCondition ?? true));
      if (!this.isOperator(',')) break;
      isTuple = true;
    }
    const [only] = items;
    if (!isTuple && only !== undefined) return only;
    if (!isTuple && options.isInParentheses !== true) return refuse('expected an expression');
    return { type: 'Tuple', items };
  }

  expression(withCondition = true): Expression {
    let left = this.#or();
    while (withCondition && this.skip('if')) {
      const test = this.#or();
      const otherwise = this.skip('else') ? this.expression() : undefined;
      left = { type: 'Conditional', test, value: left, otherwise };
    }
    return left;
  }

  #isTupleEnd(end: string | undefined): boolean {
    const { type } = this.current;
    if (type === 'variable_end' || type === 'block_end' || this.isOperator(')')) return true;
    return end !== undefined && this.isName(end);
  }

  #or(): Expression {
    let left = this.#and();
    while (this.skip('or')) left = { type: 'Or', left, right: this.#and() };
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.skip('and')) left = { type: 'And', left, right: this.#not() };
    return left;
  }

  #not(): Expression {
    return this.skip('not') ? { type: 'Not', node: this.#not() } : this.#compare();
  }

  #compare(): Expression {
    const left = this.#sum();
    const rest: [string, Expression][] = [];
    for (;;) {
      if (this.isOperator(...COMPARISONS)) rest.push([this.next().value, this.#sum()]);
      else if (this.skip('in')) rest.push(['in', this.#sum()]);
      else if (this.isName('not') && this.look().type === 'name' && this.look().value === 'in') {
        this.next();
        this.next();
        rest.push(['not in', this.#sum()]);
      } else return rest.length === 0 ? left : { type: 'Compare', left, rest };
    }
  }

  #sum(): Expression {
    let left = this.#concat();
    while (this.isOperator('+', '-'))
      left = { type: 'Binary', op: this.next().value, left, right: this.#concat() };
    return left;
  }

  #concat(): Expression {
    const items = [this.#product()];
    while (this.skip('~')) items.push(this.#product());
    return items.length === 1 ? (items[0] as Expression) : { type: 'Concat', items };
  }

  #product(): Expression {
    let left = this.#power();
    while (this.isOperator('*', '/', '//', '%'))
      left = { type: 'Binary', op: this.next().value, left, right: this.#power() };
    return left;
  }

  #power(): Expression {
    let left = this.#unary(true);
    while (this.skip('**')) left = { type: 'Binary', op: '**', left, right: this.#unary(true) };
    return left;
  }

  #unary(withFilters: boolean): Expression {
    let node: Expression;
    if (this.skip('-')) node = { type: 'Negative', node: this.#unary(false) };
    else if (this.skip('+')) node = { type: 'Positive', node: this.#unary(false) };
    else node = this.primary();
    node = this.#postfix(node);
    return withFilters ? this.#filtersAndTests(node) : node;
  }

  primary(): Expression {
    const token = this.next();
    switch (token.type) {
      case 'name':
        return CONSTANTS.has(token.value)
          ? { type: 'Const', value: CONSTANTS.get(token.value) as Value }
          : { type: 'Name', name: token.value };
      case 'string': {
        let text = unquote(token.value);
        while (this.current.type === 'string') text += unquote(this.next().value);
        return { type: 'Const', value: text };
      }
      case 'integer': {
        const value = Number(token.value.replaceAll('_', ''));
        return { type: 'Const', value: Number.isSafeInteger(value) ? value : inexact('such an integer') };
      }
      case 'float':
        return { type: 'Const', value: new PyFloat(Number(token.value.replaceAll('_', ''))) };
      default:
    }
    if (token.value === '(') {
      const inner = this.tuple({ isInParentheses: true });
      this.expect(')');
      return inner;
    }
    if (token.value === '[') return { type: 'List', items: this.#listed(']', () => this.expression()) };
    if (token.value === '{') {
      const items = this.#listed('}', (): [Expression, Expression] => {
        const key = this.expression();
        this.expect(':');
        return [key, this.expression()];
      });
      return { type: 'Dict', items };
    }
    return refuse(`unexpected ${token.value || token.type}`);
  }

  #listed<Item>(end: string, read: () => Item): Item[] {
    const items: Item[] = [];
    while (!this.isOperator(end)) {
      if (items.length > 0) this.expect(',');
      if (this.isOperator(end)) break;
      items.push(read());
    }
    this.expect(end);
    return items;
  }

  #postfix(node: Expression): Expression {
    for (;;) {
      if (this.skip('.')) {
        const token = this.next();
        if (token.type === 'name') node = { type: 'Getattr', node, attribute: token.value };
        else if (token.type === 'integer')
          node = { type: 'Getitem', node, item: { type: 'Const', value: Number(token.value) } };
        else return refuse('expected a name or number behind the dot');
      } else if (this.isOperator('[')) node = this.#subscript(node);
      else if (this.isOperator('(')) node = { type: 'Call', node, args: this.callArguments() };
      else return node;
    }
  }

  #subscript(node: Expression): Expression {
    this.expect('[');
    const items = this.#listed(']', () => this.#subscribed());
    const [only] = items;
    if (only === undefined) return refuse('expected a subscript');
    return { type: 'Getitem', node, item: items.length === 1 ? only : { type: 'Tuple', items } };
  }

  #subscribed(): Expression {
    const isOpen = (): boolean => !this.isOperator(':', ']', ',');
    const start = this.isOperator(':') ? undefined : this.expression();
    if (start !== undefined && !this.isOperator(':')) return start;
    this.expect(':');
    const stop = isOpen() ? this.expression() : undefined;
    const step = this.skip(':') && isOpen() ? this.expression() : undefined;
    return { type: 'Slice', start, stop, step };
  }

  callArguments(): CallNode {
    this.expect('(');
    const positional: Expression[] = [];
    const named: [string, Expression][] = [];
    let star: Expression | undefined;
    let doubleStar: Expression | undefined;
    this.#listed(')', () => {
      if (this.skip('*')) star = this.expression();
      else if (this.skip('**')) doubleStar = this.expression();
      else if (this.current.type === 'name' && this.look().type === 'operator' && this.look().value === '=') {
        const name = this.next().value;
        this.expect('=');
        named.push([name, this.expression()]);
      } else {
        if (named.length > 0 || star !== undefined || doubleStar !== undefined)
          refuse('invalid syntax for function call expression');
        positional.push(this.expression());
      }
    });
    return { positional, named, star, doubleStar };
  }

  #filtersAndTests(start: Expression): Expression {
    let node = start;
    for (;;) {
      if (this.isOperator('|')) node = this.filters(node);
      else if (this.skip('is')) node = this.#test(node);
      else if (this.isOperator('(')) node = { type: 'Call', node, args: this.callArguments() };
      else return node;
    }
  }

  /** Filters one behind the other; with `node` undefined the first one stands without its bar. */
  filters(start: Expression | undefined, isInline = false): Expression {
    let node = start;
    let isFirst = isInline;
    while (isFirst || this.skip('|')) {
      const name = this.#dottedName();
      const args = this.isOperator('(') ? this.callArguments() : NO_ARGUMENTS;
      node = { type: 'Filter', node, name, args };
      isFirst = false;
    }
    return node ?? refuse('expected a filter');
  }

  #dottedName(): string {
    let name = this.expectType('name').value;
    while (this.skip('.')) name += `.${this.expectType('name').value}`;
    return name;
  }

  #test(node: Expression): Expression {
    const isNegated = this.skip('not');
    const name = this.#dottedName();
    let args = NO_ARGUMENTS;
    const { type } = this.current;
    const takesOne =
      type === 'string' ||
      type === 'integer' ||
      type === 'float' ||
      type === 'name' ||
      this.isOperator('[', '{');
    if (this.isOperator('(')) args = this.callArguments();
    else if (takesOne && !this.isName('else', 'or', 'and')) {
      if (this.isName('is')) refuse('You cannot chain multiple tests with is');
      args = { ...NO_ARGUMENTS, positional: [this.#postfix(this.primary())] };
    }
    const test: Expression = { type: 'Test', node, name, args };
    return isNegated ? { type: 'Not', node: test } : test;
  }
}

const NO_ARGUMENTS: CallNode = { positional: [], named: [] };
