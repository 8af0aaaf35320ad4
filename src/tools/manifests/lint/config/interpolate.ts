import { UNKNOWN } from '../shell/words.js';

/** The name in `${NAME:-default}`, with its operator. */
const BRACED = /^([A-Za-z_]\w*)(?:(:?[-+?])(.*))?$/s;

const PLAIN = /^[A-Za-z_]\w*/;

/** Longest variable with its default. */
const MAX_BRACED_LENGTH = 4_096;

/** Defaults in defaults: more than this is no compose file of a person. */
const MAX_DEPTH = 16;

/**
 * The text with its variables, or their defaults; `UNKNOWN` in the place of one that is not known and has none. As Compose does it:
 * https://docs.docker.com/reference/compose-file/interpolation/
 */
export function interpolate(text: string, lookUp: (name: string) => string | undefined, depth = 0): string {
  if (depth > MAX_DEPTH) return UNKNOWN;
  let result = '';
  let at = 0;
  for (let next = text.indexOf('$'); next !== -1; next = text.indexOf('$', at)) {
    result += text.slice(at, next);
    const end = text.charAt(next + 1) === '{' ? closingBrace(text, next + 2) : -1;
    const inner = end === -1 ? undefined : BRACED.exec(text.slice(next + 2, end));
    const plain = PLAIN.exec(text.slice(next + 1, next + 1 + MAX_BRACED_LENGTH))?.[0];
    if (text.charAt(next + 1) === '$') {
      result += '$';
      at = next + 2;
    } else if (inner !== undefined && inner !== null) {
      result += operandOf(inner, lookUp, depth);
      at = end + 1;
    } else if (plain !== undefined) {
      result += lookUp(plain) ?? UNKNOWN;
      at = next + 1 + plain.length;
    } else {
      result += '$';
      at = next + 1;
    }
  }
  return result + text.slice(at);
}

function operandOf(
  [, name = '', operator = '', operand = '']: RegExpExecArray,
  lookUp: (name: string) => string | undefined,
  depth: number,
): string {
  const value = lookUp(name);
  const isSet = value !== undefined && (value !== '' || !operator.startsWith(':'));
  const other = (): string => interpolate(operand, lookUp, depth + 1);
  // `${NAME:+other}` is empty where nothing is set.
  if (operator.endsWith('+')) return isSet ? other() : '';
  if (isSet) return value;
  return operator.endsWith('-') ? other() : UNKNOWN;
}

/** Where the brace ends that is open at a place; -1 where it does not. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < Math.min(text.length, from + MAX_BRACED_LENGTH); at += 1) {
    if (text.startsWith('${', at)) depth += 1;
    else if (text.charAt(at) === '}') depth -= 1;
    if (depth === 0) return at;
    if (depth > MAX_DEPTH) return -1;
  }
  return -1;
}
