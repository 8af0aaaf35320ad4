import { Lexer } from 'yaml';

/** Bounds of a YAML text that this program did not write. */
export interface YamlBounds {
  /** Pieces that the lexer finds, spaces and line ends included: a line such as `key: value` has six. */
  readonly maxLexemes: number;
  /** Deepest nesting in brackets and braces, and of `-` and `?` in one line. */
  readonly maxDepth: number;
  /** Aliases: as many as there are pieces where it is absent. */
  readonly maxAliases?: number;
}

/** What a text is beyond. */
export type YamlExcess = 'too_deep' | 'too_much' | 'too_many_aliases';

/** Some thousand lines of settings: the parser compares every key of an object with every other. */
export const CONFIG_YAML_BOUNDS: YamlBounds = { maxLexemes: 50_000, maxDepth: 64 };

/** For a message, behind the name of the text. */
export const YAML_EXCESS: Readonly<Record<YamlExcess, string>> = {
  too_deep: 'is nested too deeply',
  too_much: 'has too many values',
  too_many_aliases: 'has too many aliases',
};

/**
 * Looks over a YAML text before it is parsed: 64 KiB of braces or of question
 * marks keep the parser busy for a minute. The lexer costs a tenth of the
 * parser and can be stopped. What aliases stand for is for `toJS` to bound; what is nested by
 * indentation alone grows with the square of its depth.
 */
export function findYamlExcess(text: string, bounds: YamlBounds): YamlExcess | undefined {
  if (isSurelyWithin(text, bounds)) return undefined;
  let count = 0;
  let depth = 0;
  let inLine = 0;
  let aliases = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (lexeme === '[' || lexeme === '{') depth += 1;
    else if (lexeme === ']' || lexeme === '}') depth -= 1;
    else if (lexeme === '-' || lexeme === '?') inLine += 1;
    else if (lexeme === '\n' || lexeme === '\r\n') inLine = 0;
    else if (lexeme.startsWith('*')) aliases += 1;
    if (depth + inLine > bounds.maxDepth) return 'too_deep';
    if (count > bounds.maxLexemes) return 'too_much';
    if (aliases > (bounds.maxAliases ?? aliases)) return 'too_many_aliases';
  }
  return undefined;
}

/** Whether the characters alone show that a text is within its bounds: most manifests have few brackets, and need no lexer for it. */
function isSurelyWithin(
  text: string,
  { maxLexemes, maxDepth, maxAliases = maxLexemes }: YamlBounds,
): boolean {
  // No piece is empty, but for one or two at each end of a line and of a document.
  if (text.length * 3 > maxLexemes) return false;
  let opened = 0;
  let inLine = 0;
  let stars = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BRACE || code === BRACKET) opened += 1;
    else if ((code === DASH || code === QUESTION) && mayEnd(text.charCodeAt(at + 1))) inLine += 1;
    else if (code === LINE_END) inLine = 0;
    else if (code === STAR) stars += 1;
    else continue;
    if (opened + inLine > maxDepth || stars > maxAliases) return false;
  }
  return true;
}

const BRACE = 0x7b;
const BRACKET = 0x5b;
const DASH = 0x2d;
const QUESTION = 0x3f;
const LINE_END = 0x0a;
const STAR = 0x2a;

/** Whether `-` and `?` are signs of their own in front of a character: a space, an end, or a sign of a list in brackets. */
function mayEnd(code: number): boolean {
  return (
    !(code > 0x20) || code === 0x2c || code === BRACKET || code === 0x5d || code === BRACE || code === 0x7d
  );
}
