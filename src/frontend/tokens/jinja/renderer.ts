import { inexact, refuse, TemplateError } from './errors.js';
import { callValue, Evaluator } from './evaluator.js';
import { makeLoop } from './globals.js';
import type { Expression, Parameter, Statement, Target } from './nodes.js';
import { isTrue, iterate, textOf } from './operators.js';
import { Scope } from './scope.js';
import { checkLength } from './text.js';
import {
  type CallArguments,
  PyDict,
  PyFunction,
  PyNamespace,
  PyTuple,
  PyUndefined,
  type Value,
} from './values.js';

/** Macros within macros; Python's own stack ends at about 300. */
const MAX_MACROS = 150;

/** How statements ended. */
type Flow = 'on' | 'break' | 'continue';

/** One rendering of one template. */
export class Renderer {
  readonly #context: Scope;
  #out: string[] = [];
  #chars = 0;
  readonly #in = new Evaluator();
  #macros = 0;

  constructor(context: Map<string, Value>) {
    this.#context = new Scope(undefined, context);
  }

  render(statements: readonly Statement[]): string {
    return this.#capture(statements, new Scope(this.#context));
  }

  /** What statements print. */
  #capture(statements: readonly Statement[], scope: Scope): string {
    const out = this.#out;
    this.#out = [];
    if (this.#run(statements, scope) !== 'on') return inexact('a loop that ends within a block');
    const text = this.#out.join('');
    this.#out = out;
    return text;
  }

  #print(text: string): void {
    this.#chars += text.length;
    checkLength(this.#chars);
    this.#out.push(text);
  }

  #run(statements: readonly Statement[], scope: Scope): Flow {
    for (const statement of statements) {
      const flow = this.#one(statement, scope);
      if (flow !== 'on') return flow;
    }
    return 'on';
  }

  #one(statement: Statement, scope: Scope): Flow {
    this.#in.step();
    switch (statement.type) {
      case 'Text':
        this.#print(statement.text);
        return 'on';
      case 'Output':
        this.#print(textOf(this.#in.value(statement.value, scope)));
        return 'on';
      case 'If':
        return this.#run(
          isTrue(this.#in.value(statement.test, scope)) ? statement.body : statement.otherwise,
          scope,
        );
      case 'For':
        return this.#for(statement, scope);
      case 'Set':
        this.#assign(statement.target, this.#in.value(statement.value, scope), scope);
        return 'on';
      case 'SetBlock': {
        const text = this.#capture(statement.body, new Scope(scope));
        this.#assign(statement.target, this.#in.filtered(statement.filter, text, scope), scope);
        return 'on';
      }
      case 'Macro':
        scope.set(statement.name, this.#macro(statement.name, statement.parameters, statement.body, scope));
        return 'on';
      case 'CallBlock':
        this.#callBlock(statement, scope);
        return 'on';
      case 'FilterBlock': {
        const text = this.#capture(statement.body, new Scope(scope));
        this.#print(textOf(this.#in.filtered(statement.filter, text, scope)));
        return 'on';
      }
      case 'With': {
        const inner = new Scope(scope);
        for (const [target, value] of statement.values)
          this.#assign(target, this.#in.value(value, scope), inner);
        return this.#run(statement.body, inner);
      }
      case 'Generation':
        this.#print(this.#capture(statement.body, new Scope(scope)));
        return 'on';
      case 'Break':
        return 'break';
      case 'Continue':
        return 'continue';
    }
  }

  #assign(target: Target, value: Value, scope: Scope): void {
    if (target.type === 'Name') {
      scope.set(target.name, value);
    } else if (target.type === 'Field') {
      setField(scope.get(target.name), target.attribute, value);
    } else {
      const values = [...iterate(value)];
      if (values.length !== target.items.length) refuse('not as many values to unpack as expected');
      for (const [at, item] of target.items.entries()) this.#assign(item, values[at] as Value, scope);
    }
  }

  #for(statement: Statement & { readonly type: 'For' }, scope: Scope): Flow {
    const { target, test, body } = statement;
    const given = this.#in.value(statement.iterable, scope);
    const items = (test === undefined ? iterate(given) : this.#where(given, target, test, scope))[
      Symbol.iterator
    ]();
    // As Jinja2 has it: an item is taken from the sequence before its turn only when the body asks for what comes.
    const ahead: Value[] = [];
    const take = (): Value | undefined => {
      const next = items.next();
      return next.done === true ? undefined : next.value;
    };
    const peek = (): Value | undefined => {
      if (ahead.length === 0) {
        const next = take();
        if (next !== undefined) ahead.push(next);
      }
      return ahead[0];
    };
    const lastChanged = { value: undefined };
    const usesLoop = namesIn(body).has('loop');
    let previous: Value | undefined;
    for (let index0 = 0; ; index0 += 1) {
      this.#in.step();
      const current = ahead.length > 0 ? ahead.shift() : take();
      if (current === undefined) {
        if (index0 === 0) return this.#run(statement.otherwise, new Scope(scope));
        return 'on';
      }
      const count = (): number => {
        for (let next = take(); next !== undefined; next = take()) ahead.push(next);
        return index0 + 1 + ahead.length;
      };
      const inner = new Scope(scope);
      this.#assign(target, current, inner);
      if (usesLoop)
        inner.set('loop', makeLoop({ index0, items: count, previous, current, peek, lastChanged }));
      if (this.#run(body, inner) === 'break') return 'on';
      previous = current;
    }
  }

  *#where(given: Value, target: Target, test: Expression, scope: Scope): Generator<Value> {
    for (const item of iterate(given)) {
      const inner = new Scope(scope);
      this.#assign(target, item, inner);
      if (isTrue(this.#in.value(test, inner))) yield item;
    }
  }

  #macro(
    name: string,
    parameters: readonly Parameter[],
    body: readonly Statement[],
    scope: Scope,
  ): PyFunction {
    const used = namesIn(body);
    const isFree = (word: string): boolean => used.has(word) && parameters.every((one) => one.name !== word);
    const [takesCaller, takesMore, takesNamed] = [isFree('caller'), isFree('varargs'), isFree('kwargs')];
    const run = ({ positional, named }: CallArguments): Value => {
      if (this.#macros >= MAX_MACROS) return inexact('macros within macros to that depth');
      const inner = new Scope(scope);
      const rest = new Map(named);
      parameters.forEach((parameter, at) => {
        let value = positional[at];
        if (value === undefined && rest.has(parameter.name)) {
          value = rest.get(parameter.name);
          rest.delete(parameter.name);
        }
        if (value === undefined && parameter.byDefault !== undefined)
          value = this.#in.value(parameter.byDefault, inner);
        if (value === undefined) value = new PyUndefined(`parameter '${parameter.name}' was not provided`);
        inner.set(parameter.name, value);
      });
      if (takesCaller) {
        inner.set('caller', rest.get('caller') ?? new PyUndefined('No caller defined'));
        rest.delete('caller');
      }
      if (takesNamed) {
        const dict = new PyDict();
        for (const [key, value] of rest) dict.set(key, value);
        inner.set('kwargs', dict);
      } else if (rest.size > 0)
        return refuse(`macro ${name} takes no keyword argument ${[...rest.keys()][0]}`);
      if (takesMore) inner.set('varargs', new PyTuple(positional.slice(parameters.length)));
      else if (positional.length > parameters.length) return refuse(`macro ${name} takes fewer arguments`);
      this.#macros += 1;
      const text = this.#capture(body, inner);
      this.#macros -= 1;
      return text;
    };
    return new PyFunction(name, run);
  }

  #callBlock(statement: Statement & { readonly type: 'CallBlock' }, scope: Scope): void {
    const { call } = statement;
    if (call.type !== 'Call') throw new TemplateError('expected call');
    const caller = this.#macro('caller', statement.parameters, statement.body, scope);
    const args = this.#in.arguments(call.args, scope);
    const named = new Map(args.named).set('caller', caller);
    this.#print(textOf(callValue(this.#in.value(call.node, scope), { positional: args.positional, named })));
  }
}

function setField(namespace: Value, name: string, value: Value): void {
  if (!(namespace instanceof PyNamespace)) refuse('cannot assign attribute on non-namespace object');
  else if (name.startsWith('_')) inexact('such a name in a namespace');
  else namespace.attributes.set(name, value);
}

const namesOf = new WeakMap<object, ReadonlySet<string>>();

/** All names that are read in statements, remembered for as long as the template is. */
function namesIn(body: readonly Statement[]): ReadonlySet<string> {
  let names = namesOf.get(body);
  if (names === undefined) {
    const found = new Set<string>();
    addNames(body, found);
    namesOf.set(body, found);
    names = found;
  }
  return names;
}

function addNames(node: unknown, found: Set<string>): void {
  if (typeof node !== 'object' || node === null || node instanceof Map) return;
  const { type, name } = node as { readonly type?: unknown; readonly name?: unknown };
  if (type === 'Name' && typeof name === 'string') found.add(name);
  for (const child of Object.values(node)) addNames(child, found);
}
