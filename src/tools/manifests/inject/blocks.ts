import { Lexer } from 'yaml';
import { lineEnd, lineStart, splitLines } from '../lines.js';
import { InjectRefusal } from './refusal.js';

/** What every comment of ours begins with. */
const MARK = '# kv-accord: ';

const BEGIN = `${MARK}begin (kv-accord inject --remove takes this out)`;
const END = `${MARK}end`;

/** Before an original line that a block stands in for; the bar keeps blanks at its beginning and its end. */
const WAS = `${MARK}was |`;

/** Whole lines that are added to a file, or put in the place of others. */
export interface Block {
  /** Columns before the comments: those of what stands around. */
  readonly indent: number;
  /** The lines themselves, each with its line end; the last one may have none. */
  readonly text: string;
  /** The lines that they stand in for; empty where nothing was there. */
  readonly instead: string;
}

/** A block between its comments, every line with its line end. */
export function renderBlock({ indent, text, instead }: Block, eol: string): string {
  const margin = ' '.repeat(indent);
  const was = splitLines(instead).map((line) => `${margin}${WAS}${withLineEnd(line, eol)}`);
  return `${margin}${BEGIN}${eol}${was.join('')}${withLineEnd(text, eol)}${margin}${END}${eol}`;
}

/**
 * The text without the blocks of `renderBlock`, every other byte as it was. A
 * block at the very end, with no line end behind it, stood in a text whose last
 * line had none. Throws an `InjectRefusal` where comments do not fit together.
 */
export function removeBlocks(text: string): string {
  if (!text.includes(MARK)) return text;
  const marks = markLines(text);
  const kept: string[] = [];
  let open: number | undefined;
  let offset = 0;
  let number = 0;
  for (const line of splitLines(text)) {
    number += 1;
    const mark = marks.get(offset);
    offset += line.length;
    if (mark === BEGIN) {
      if (open !== undefined) throw broken(number, `a block begins inside the one of line ${open}`);
      open = number;
    } else if (mark === END) {
      if (open === undefined) throw broken(number, 'a block ends that does not begin');
      open = undefined;
      if (!line.endsWith('\n')) trimLastLineEnd(kept);
    } else if (open === undefined) {
      kept.push(line);
    } else if (mark !== undefined) {
      kept.push(line.slice(line.indexOf(WAS) + WAS.length));
    }
  }
  if (open !== undefined) throw broken(open, 'a block begins that does not end');
  return kept.join('');
}

function broken(line: number, what: string): InjectRefusal {
  return new InjectRefusal(
    line,
    `${what}; the comments "${BEGIN}" and "${END}" must stand in pairs: take the version of the file before kv-accord inject`,
  );
}

/** Our comments by the offsets of their lines. Text that only looks like one, in a script of a ConfigMap, is none. */
function markLines(text: string): ReadonlyMap<number, string> {
  const marks = new Map<number, string>();
  let offset = 0;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    // These stand for no character of the text: beginning of a document, broken flow, beginning of a scalar.
    if (lexeme === '\u0002' || lexeme === '\u0018' || lexeme === '\u001f') {
      isScalar = lexeme === '\u001f';
      continue;
    }
    if (!isScalar && lexeme.startsWith(MARK)) {
      const comment = lexeme.trimEnd();
      const start = lineStart(text, offset);
      const isAlone = text.slice(start, offset).trim() === '';
      const mark = comment === BEGIN || comment === END ? comment : comment.startsWith(WAS) ? WAS : undefined;
      if (isAlone && mark !== undefined && lineEnd(text, offset) > offset) marks.set(start, mark);
    }
    isScalar = false;
    offset += lexeme.length;
  }
  return marks;
}

function trimLastLineEnd(lines: string[]): void {
  const last = lines.pop();
  if (last !== undefined) lines.push(last.replace(/\r?\n$/, ''));
}

function withLineEnd(text: string, eol: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}${eol}`;
}
