import { Lexer } from 'yaml';

/** Bounds of a YAML text that this program did not write. */
export interface YamlBounds {
  /** Pieces that the lexer finds, spaces and line ends included: a line such as `key: value` has six. */
  readonly maxLexemes: number;
  /** Deepest nesting in brackets and braces, and of `-` and `?` in one line. */
  readonly maxDepth: number;
}

/** What a text is beyond. */
export type YamlExcess = 'too_deep' | 'too_much';

/** Some thousand lines of settings: the parser compares every key of an object with every other. */
export const CONFIG_YAML_BOUNDS: YamlBounds = { maxLexemes: 50_000, maxDepth: 64 };

/** For a message, behind the name of the text. */
export const YAML_EXCESS: Readonly<Record<YamlExcess, string>> = {
  too_deep: 'is nested too deeply',
  too_much: 'has too many values',
};

/**
 * Looks over a YAML text before it is parsed: 64 KiB of braces or of question
 * marks keep the parser busy for a minute. The lexer costs a tenth of the
 * parser and can be stopped. Aliases are for `toJS` to bound; what is nested by
 * indentation alone grows with the square of its depth.
 */
export function findYamlExcess(text: string, bounds: YamlBounds): YamlExcess | undefined {
  let count = 0;
  let depth = 0;
  let inLine = 0;
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    if (lexeme === '[' || lexeme === '{') depth += 1;
    else if (lexeme === ']' || lexeme === '}') depth -= 1;
    else if (lexeme === '-' || lexeme === '?') inLine += 1;
    else if (lexeme === '\n' || lexeme === '\r\n') inLine = 0;
    if (depth + inLine > bounds.maxDepth) return 'too_deep';
    if (count > bounds.maxLexemes) return 'too_much';
  }
  return undefined;
}
