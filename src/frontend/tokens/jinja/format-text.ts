import { inexact, refuse } from './errors.js';
import { reprOf, textOf } from './operators.js';
import { checkLength } from './text.js';
import { type CallArguments, PyFloat, PyTuple, PyUndefined, type Value } from './values.js';

const FIELD = /\{\{|\}\}|\{([^{}!:]*)(?:!([rs]))?(:[^{}]*)?\}|[{}]/g;

/** `str.format`, with fields of a number or a name, and without format specifications. */
export function formatText(format: string, { positional, named }: CallArguments): string {
  let next = 0;
  const text = format.replace(FIELD, (whole, field: string | undefined, conversion, specification) => {
    if (whole === '{{') return '{';
    if (whole === '}}') return '}';
    if (field === undefined) return refuse('single brace in a format');
    const isNumber = /^\d*$/.test(field);
    if (specification !== undefined || (!isNumber && !/^[A-Za-z_]\w*$/.test(field)))
      return inexact('such a format');
    const value = isNumber ? positional[field === '' ? next++ : Number(field)] : named.get(field);
    if (value === undefined) return refuse('a field of a format has no value');
    return conversion === 'r' ? reprOf(value, 0) : textOf(value);
  });
  checkLength(text.length);
  return text;
}

/** `format % arguments` with `%s`, `%r`, `%d` and `%%`: the filter `format`. */
export function percentFormat(format: string, args: readonly Value[]): string {
  let next = 0;
  const text = format.replace(/%(.)?/gs, (_, kind: string | undefined) => {
    if (kind === '%') return '%';
    const value = args[next];
    next += 1;
    if (value === undefined) return refuse('not enough arguments for format string');
    if (kind === 's') return textOf(value);
    if (kind === 'r') return reprOf(value, 0);
    if (kind !== 'd' || value instanceof PyFloat) return inexact('such a format');
    if (value instanceof PyUndefined) return value.fail();
    return typeof value === 'number' ? String(value) : inexact('such a number in a format');
  });
  if (next < args.length && !(args[0] instanceof PyTuple)) return refuse('not all arguments converted');
  checkLength(text.length);
  return text;
}
