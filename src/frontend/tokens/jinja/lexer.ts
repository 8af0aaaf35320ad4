import { refuse } from './errors.js';
import { SPACE, strip } from './text.js';

/** One piece of a template. */
export interface Token {
  readonly type:
    | 'text'
    | 'block_begin'
    | 'block_end'
    | 'variable_begin'
    | 'variable_end'
    | 'name'
    | 'string'
    | 'integer'
    | 'float'
    | 'operator'
    | 'end';
  readonly value: string;
}

const OPENING = /\{%|\{\{|\{#/g;
const RAW_BEGIN = new RegExp(`\\{%[-+]?${SPACE}*raw${SPACE}*(?:-%\\}${SPACE}*|%\\})`, 'y');
const RAW_END = new RegExp(`\\{%([-+]?)${SPACE}*endraw${SPACE}*(?:\\+%\\}|-%\\}${SPACE}*|%\\}\\n?)`, 'g');
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}${SPACE}*|#\\}\\n?`, 'g');
const BLOCK_END = new RegExp(`\\+%\\}|-%\\}${SPACE}*|%\\}\\n?`, 'y');
const VARIABLE_END = new RegExp(`-\\}\\}${SPACE}*|\\}\\}`, 'y');
const BLANK = new RegExp(`${SPACE}+`, 'y');
const ALL_BLANK = new RegExp(`^${SPACE}+$`);
const RULES: readonly (readonly [Token['type'], RegExp])[] = [
  ['float', /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy],
  ['integer', /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy],
  ['name', /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy],
  ['string', /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y],
  ['operator', /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y],
];
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Cuts a template as Jinja2 3.1 does with `trim_blocks` and `lstrip_blocks`,
 * which transformers sets. Throws a `TemplateError`.
 */
export function tokenise(template: string): Token[] {
  const source = template.replace(/\r\n|\r/g, '\n').replace(/\n$/, '');
  const tokens: Token[] = [];
  let at = 0;
  let startsLine = true;
  const match = (rule: RegExp): string | undefined => {
    rule.lastIndex = at;
    const [found] = rule.exec(source) ?? [];
    return found;
  };
  const addText = (text: string, sign: string, isVariable: boolean): void => {
    const kept = stripped(text, sign, isVariable, startsLine);
    if (kept !== '') tokens.push({ type: 'text', value: kept });
  };
  while (at < source.length) {
    OPENING.lastIndex = at;
    const opening = OPENING.exec(source);
    if (opening === null) {
      tokens.push({ type: 'text', value: source.slice(at) });
      break;
    }
    const text = source.slice(at, opening.index);
    at = opening.index;
    const isVariable = opening[0] === '{{';
    const sign = /[-+]/.test(source[at + 2] ?? '') ? (source[at + 2] as string) : '';
    addText(text, sign, isVariable);
    startsLine = false;
    const raw = match(RAW_BEGIN);
    if (raw !== undefined || opening[0] === '{#') {
      at += raw?.length ?? 2 + sign.length;
      const rule = raw === undefined ? COMMENT_END : RAW_END;
      rule.lastIndex = at;
      const end = rule.exec(source) ?? refuse(`missing end of ${raw === undefined ? 'comment' : 'raw'}`);
      startsLine = raw?.endsWith('\n') === true;
      if (raw !== undefined) addText(source.slice(at, end.index), end[1] ?? '', false);
      at = end.index + end[0].length;
      startsLine = end[0].endsWith('\n');
      continue;
    }
    tokens.push({ type: isVariable ? 'variable_begin' : 'block_begin', value: opening[0] });
    at += 2 + sign.length;
    const end = readTag(isVariable);
    at += end.length;
    startsLine = end.endsWith('\n');
  }
  tokens.push({ type: 'end', value: '' });
  return tokens;

  /** Reads what stands in one tag; the text that ends it is left. */
  function readTag(isVariable: boolean): string {
    const open: string[] = [];
    for (;;) {
      at += match(BLANK)?.length ?? 0;
      const end = open.length === 0 ? match(isVariable ? VARIABLE_END : BLOCK_END) : undefined;
      if (end !== undefined) {
        tokens.push({ type: isVariable ? 'variable_end' : 'block_end', value: end });
        return end;
      }
      const [type, value] =
        readOne() ?? refuse(`unexpected char ${JSON.stringify(source[at] ?? 'end')} in a tag`);
      tokens.push({ type, value });
      at += value.length;
      if (type !== 'operator') continue;
      if (value in CLOSING) open.push(CLOSING[value] as string);
      else if (/[)\]}]/.test(value) && open.pop() !== value) refuse(`unexpected ${value}`);
    }
  }

  function readOne(): [Token['type'], string] | undefined {
    for (const [type, rule] of RULES) {
      const value = match(rule);
      if (value !== undefined) return [type, value];
    }
    return undefined;
  }
}

function stripped(text: string, sign: string, isVariable: boolean, startsLine: boolean): string {
  if (sign === '-') return strip(text, null, 'right');
  if (sign === '+' || isVariable) return text;
  const line = text.lastIndexOf('\n') + 1;
  return (line > 0 || startsLine) && ALL_BLANK.test(text.slice(line)) ? text.slice(0, line) : text;
}

const SIMPLE: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const ESCAPE = /\\(?:([0-7]{1,3})|x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|([\s\S]))/giu;

/** What a string of a template stands for. */
export function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(ESCAPE, (whole, octal, x, u, big, other: string | undefined) => {
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const isBig = whole.startsWith('\\U');
    const hex = isBig ? big : (x ?? u);
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (other === undefined || /[NuUx]/.test(other)) return refuse(`the escape ${whole} is not known`);
    // Jinja2 writes what is not ASCII as an escape first, and then reads its own backslash.
    if (other > '\x7f') return refuse(`the escape ${whole} is not known`);
    return SIMPLE[other] ?? whole;
  });
}
