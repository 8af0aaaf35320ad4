import { inexact, refuse } from './errors.js';
import { tokenise } from './lexer.js';
import type { Expression, Parameter, Statement, Target } from './nodes.js';
import { ExpressionParser } from './parse-expression.js';

/** Statements of Jinja2 that chat templates do not have. */
const UNSUPPORTED = ['block', 'extends', 'include', 'import', 'from', 'autoescape', 'print'];

/**
 * Parses a template. Throws a `TemplateError` where Jinja2 does, and an
 * `InexactError` for what is not rendered here.
 */
export function parseTemplate(source: string): readonly Statement[] {
  const parser = new TemplateParser(new ExpressionParser(tokenise(source)));
  return parser.body([]);
}

class TemplateParser {
  readonly #in: ExpressionParser;
  #loops = 0;

  constructor(parser: ExpressionParser) {
    this.#in = parser;
  }

  /** Statements up to a tag with one of these names, whose name is not yet taken; up to the end for none. */
  body(ends: readonly string[]): Statement[] {
    const statements: Statement[] = [];
    for (;;) {
      const token = this.#in.next();
      if (token.type === 'end') {
        if (ends.length > 0) refuse(`unexpected end of template, expected ${ends.join(' or ')}`);
        return statements;
      }
      if (token.type === 'text') statements.push({ type: 'Text', text: token.value });
      else if (token.type === 'variable_begin') {
        statements.push({ type: 'Output', value: this.#in.tuple() });
        this.#in.expectType('variable_end');
      } else if (token.type === 'block_begin') {
        if (this.#in.isName(...ends)) return statements;
        const statement = this.#statement();
        statements.push(statement);
        this.#in.expectType('block_end');
      } else refuse(`unexpected ${token.value}`);
    }
  }

  /** The body of a statement, and its end tag up to the bracket. */
  #bodyOf(end: string): Statement[] {
    this.#in.expectType('block_end');
    const body = this.body([end]);
    this.#in.next();
    return body;
  }

  #statement(): Statement {
    const name = this.#in.expectType('name').value;
    switch (name) {
      case 'if':
        return this.#if();
      case 'for':
        return this.#for();
      case 'set':
        return this.#set();
      case 'macro': {
        const macro = this.#in.expectType('name').value;
        const parameters = this.#parameters();
        return {
          type: 'Macro',
          name: macro,
          parameters,
          body: this.#withoutLoops(() => this.#bodyOf('endmacro')),
        };
      }
      case 'call': {
        const parameters = this.#in.isOperator('(') ? this.#parameters() : [];
        const call = this.#in.expression();
        if (call.type !== 'Call') refuse('expected call');
        return {
          type: 'CallBlock',
          call,
          parameters,
          body: this.#withoutLoops(() => this.#bodyOf('endcall')),
        };
      }
      case 'filter':
        return {
          type: 'FilterBlock',
          filter: this.#in.filters(undefined, true),
          body: this.#bodyOf('endfilter'),
        };
      case 'with':
        return this.#with();
      case 'generation':
        return { type: 'Generation', body: this.#withoutLoops(() => this.#bodyOf('endgeneration')) };
      case 'break':
      case 'continue':
        if (this.#loops === 0) refuse(`${name} outside of a loop`);
        return { type: name === 'break' ? 'Break' : 'Continue' };
      default:
        return UNSUPPORTED.includes(name) ? inexact(`{% ${name} %}`) : refuse(`unknown tag ${name}`);
    }
  }

  #withoutLoops<Made>(read: () => Made): Made {
    const loops = this.#loops;
    this.#loops = 0;
    const made = read();
    this.#loops = loops;
    return made;
  }

  #if(): Statement {
    const test = this.#in.tuple({ withCondition: false });
    this.#in.expectType('block_end');
    const body = this.body(['elif', 'else', 'endif']);
    const end = this.#in.next().value;
    if (end === 'elif') return { type: 'If', test, body, otherwise: [this.#if()] };
    return { type: 'If', test, body, otherwise: end === 'else' ? this.#bodyOf('endif') : [] };
  }

  #for(): Statement {
    const target = this.#target('in');
    this.#in.expect('in');
    const iterable = this.#in.tuple({ withCondition: false, end: 'recursive' });
    const test = this.#in.skip('if') ? this.#in.expression() : undefined;
    if (this.#in.skip('recursive')) inexact('a recursive loop');
    this.#in.expectType('block_end');
    this.#loops += 1;
    const body = this.body(['endfor', 'else']);
    this.#loops -= 1;
    const otherwise = this.#in.next().value === 'else' ? this.#bodyOf('endfor') : [];
    return { type: 'For', target, iterable, test, body, otherwise };
  }

  #set(): Statement {
    const target = this.#target();
    if (this.#in.skip('=')) return { type: 'Set', target, value: this.#in.tuple() };
    const filter = this.#in.isOperator('|') ? this.#in.filters(undefined) : undefined;
    return { type: 'SetBlock', target, filter, body: this.#bodyOf('endset') };
  }

  #with(): Statement {
    const values: [Target, Expression][] = [];
    while (this.#in.current.type !== 'block_end') {
      if (values.length > 0) this.#in.expect(',');
      const target = this.#oneTarget();
      this.#in.expect('=');
      values.push([target, this.#in.expression()]);
    }
    return { type: 'With', values, body: this.#bodyOf('endwith') };
  }

  #target(end?: string): Target {
    const items: Target[] = [];
    let isTuple = false;
    for (;;) {
      items.push(this.#oneTarget());
      if (!this.#in.skip(',')) break;
      isTuple = true;
      if (
        this.#in.isOperator('=', ')') ||
        this.#in.current.type === 'block_end' ||
        (end !== undefined && this.#in.isName(end))
      )
        break;
    }
    return isTuple ? { type: 'Tuple', items } : (items[0] as Target);
  }

  #oneTarget(): Target {
    if (this.#in.skip('(')) {
      const inner = this.#target();
      this.#in.expect(')');
      return inner;
    }
    const name = this.#in.expectType('name').value;
    if (/^(?:true|false|none|True|False|None)$/.test(name)) refuse(`can't assign to ${name}`);
    if (!this.#in.skip('.')) return { type: 'Name', name };
    return { type: 'Field', name, attribute: this.#in.expectType('name').value };
  }

  #parameters(): Parameter[] {
    const parameters: Parameter[] = [];
    this.#in.expect('(');
    while (!this.#in.isOperator(')')) {
      if (parameters.length > 0) this.#in.expect(',');
      const name = this.#in.expectType('name').value;
      const byDefault = this.#in.skip('=') ? this.#in.expression() : undefined;
      if (byDefault === undefined && parameters.at(-1)?.byDefault !== undefined)
        refuse('non-default argument follows default argument');
      parameters.push({ name, byDefault });
    }
    this.#in.expect(')');
    return parameters;
  }
}
