/** The syntax tree of a template. */
import type { Value } from './values.js';

/** The arguments of a call: by place, by name, and those that `*` and `**` spread. */
export interface CallNode {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  readonly star?: Expression | undefined;
  readonly doubleStar?: Expression | undefined;
}

/** What has a value, by the names of Jinja's own nodes (`jinja2/nodes.py`). */
export type Expression =
  | { readonly type: 'Const'; readonly value: Value }
  | { readonly type: 'Name'; readonly name: string }
  | { readonly type: 'Tuple' | 'List'; readonly items: readonly Expression[] }
  | { readonly type: 'Dict'; readonly items: readonly (readonly [Expression, Expression])[] }
  | { readonly type: 'Getattr'; readonly node: Expression; readonly attribute: string }
  | { readonly type: 'Getitem'; readonly node: Expression; readonly item: Expression }
  | {
      readonly type: 'Slice';
      readonly start?: Expression | undefined;
      readonly stop?: Expression | undefined;
      readonly step?: Expression | undefined;
    }
  | { readonly type: 'Call'; readonly node: Expression; readonly args: CallNode }
  /** `node` is absent in the head of `{% filter %}`, where the block stands for it. */
  | {
      readonly type: 'Filter';
      readonly node?: Expression | undefined;
      readonly name: string;
      readonly args: CallNode;
    }
  | { readonly type: 'Test'; readonly node: Expression; readonly name: string; readonly args: CallNode }
  | { readonly type: 'Not'; readonly node: Expression }
  | { readonly type: 'Negative' | 'Positive'; readonly node: Expression }
  | { readonly type: 'And' | 'Or'; readonly left: Expression; readonly right: Expression }
  | {
      readonly type: 'Conditional';
      readonly test: Expression;
      readonly value: Expression;
      readonly otherwise?: Expression | undefined;
    }
  | { readonly type: 'Binary'; readonly op: string; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'Concat'; readonly items: readonly Expression[] }
  | {
      readonly type: 'Compare';
      readonly left: Expression;
      readonly rest: readonly (readonly [string, Expression])[];
    };

/** What a value is given to. */
export type Target =
  | { readonly type: 'Name'; readonly name: string }
  | { readonly type: 'Tuple'; readonly items: readonly Target[] }
  | { readonly type: 'Field'; readonly name: string; readonly attribute: string };

/** A parameter of a macro. */
export interface Parameter {
  readonly name: string;
  readonly byDefault?: Expression | undefined;
}

/** What a template does in its order, by the names of Jinja's own nodes. */
export type Statement =
  | { readonly type: 'Text'; readonly text: string }
  | { readonly type: 'Output'; readonly value: Expression }
  | {
      readonly type: 'For';
      readonly target: Target;
      readonly iterable: Expression;
      readonly test?: Expression | undefined;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | {
      readonly type: 'If';
      readonly test: Expression;
      readonly body: readonly Statement[];
      readonly otherwise: readonly Statement[];
    }
  | { readonly type: 'Set'; readonly target: Target; readonly value: Expression }
  | {
      readonly type: 'SetBlock';
      readonly target: Target;
      readonly filter?: Expression | undefined;
      readonly body: readonly Statement[];
    }
  | {
      readonly type: 'Macro';
      readonly name: string;
      readonly parameters: readonly Parameter[];
      readonly body: readonly Statement[];
    }
  | {
      readonly type: 'CallBlock';
      readonly call: Expression;
      readonly parameters: readonly Parameter[];
      readonly body: readonly Statement[];
    }
  | { readonly type: 'FilterBlock'; readonly filter: Expression; readonly body: readonly Statement[] }
  | {
      readonly type: 'With';
      readonly values: readonly (readonly [Target, Expression])[];
      readonly body: readonly Statement[];
    }
  /** `{% generation %}`: it is printed as it is. */
  | { readonly type: 'Generation'; readonly body: readonly Statement[] }
  | { readonly type: 'Break' | 'Continue' };
