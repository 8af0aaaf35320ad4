import { inexact, refuse } from './errors.js';
import { isTrue, stringOf } from './operators.js';
import { checkLength, compareTexts, floatText } from './text.js';
import { PyDict, PyFloat, PyTuple, type Value } from './values.js';

/** The arguments of Python's `json.dumps` that transformers' filter `tojson` hands on. */
export interface DumpOptions {
  readonly ensureAscii: boolean;
  /** What one level is indented by; null writes one line. */
  readonly indent: string | null;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
}

/** Deepest nesting; Python's own recursion ends at about a thousand. */
const MAX_DEPTH = 200;

/** Widest indent; real templates have 4. */
const MAX_INDENT = 64;

/** `json.dumps(value, …)`. */
export function dumpJson(value: Value, options: DumpOptions): string {
  const text = dump(value, options, 0);
  checkLength(text.length);
  return text;
}

function dump(value: Value, options: DumpOptions, depth: number): string {
  if (depth > MAX_DEPTH) return inexact('a nesting of that depth');
  const scalar = scalarText(value);
  if (scalar !== undefined) return scalar;
  const text = stringOf(value);
  if (text !== undefined) return quoted(text, options.ensureAscii);
  const items = Array.isArray(value) ? value : value instanceof PyTuple ? value.items : undefined;
  if (items !== undefined)
    return bracketed(
      '[',
      ']',
      items.map((item) => dump(item, options, depth + 1)),
      options,
      depth,
    );
  if (!(value instanceof PyDict)) return refuse('it is not JSON serializable');
  const entries = [...value.entries()];
  if (options.sortKeys) entries.sort(([a], [b]) => compareTexts(textKey(a), textKey(b)));
  const members = entries.map(
    ([key, item]) =>
      quoted(keyText(key), options.ensureAscii) + options.keySeparator + dump(item, options, depth + 1),
  );
  return bracketed('{', '}', members, options, depth);
}

function bracketed(
  open: string,
  close: string,
  parts: readonly string[],
  options: DumpOptions,
  depth: number,
): string {
  if (parts.length === 0) return open + close;
  if (options.indent === null) return open + parts.join(options.itemSeparator) + close;
  checkLength(parts.length * (depth + 1) * options.indent.length);
  const line = `\n${options.indent.repeat(depth + 1)}`;
  return `${open}${line}${parts.join(options.itemSeparator + line)}\n${options.indent.repeat(depth)}${close}`;
}

function scalarText(value: Value): string | undefined {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (!(value instanceof PyFloat)) return undefined;
  if (Number.isNaN(value.value)) return 'NaN';
  if (!Number.isFinite(value.value)) return value.value > 0 ? 'Infinity' : '-Infinity';
  return floatText(value.value);
}

function keyText(key: Value): string {
  return stringOf(key) ?? scalarText(key) ?? refuse('keys must be str, int, float, bool or None');
}

function textKey(key: Value): string {
  return stringOf(key) ?? inexact('the order of keys that are no text');
}

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\f': '\\f',
  '\b': '\\b',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped.
const ESCAPED = /["\\\u0000-\u001f]/g;

function quoted(text: string, ensureAscii: boolean): string {
  const escaped = text.replace(ESCAPED, (character) => SHORT[character] ?? unicodeEscape(character));
  return `"${ensureAscii ? escaped.replace(/[^\0-\x7e]/g, unicodeEscape) : escaped}"`;
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The options of a call of the filter `tojson`, with its defaults. */
export function dumpOptions(
  indentGiven: Value,
  separators: Value,
  ensureAscii: Value,
  sortKeys: Value,
): DumpOptions {
  const indent =
    indentGiven === null
      ? null
      : (stringOf(indentGiven) ??
        (typeof indentGiven === 'number' && indentGiven <= MAX_INDENT
          ? ' '.repeat(Math.max(indentGiven, 0))
          : inexact('such an indent')));
  const items = Array.isArray(separators)
    ? separators
    : separators instanceof PyTuple
      ? separators.items
      : undefined;
  if (separators !== null && items?.length !== 2) return refuse('separators must be a pair');
  const [item = indent === null ? ', ' : ',', key = ': '] = (items ?? []).map(
    (one) => stringOf(one) ?? refuse('separators must be str'),
  );
  return {
    ensureAscii: isTrue(ensureAscii),
    indent,
    itemSeparator: item,
    keySeparator: key,
    sortKeys: isTrue(sortKeys),
  };
}
