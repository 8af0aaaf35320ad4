import { UNKNOWN } from '../shell/words.js';

/** A word of a command as it is written, with `UNKNOWN` for each variable and substitution. */
export interface CallWord {
  readonly text: string;
  /** The names of its variables. */
  readonly names: readonly string[];
}

/** A command that changes texts or objects, wherever a script has it. */
export interface ScriptCall {
  readonly tool: string;
  readonly words: readonly CallWord[];
  /** Where it begins. */
  readonly at: number;
}

/** Such commands of one script: launch scripts have some dozens. */
const MAX_CALLS = 300;

/** Characters of one command: a patch may stand in it. */
const MAX_CALL_LENGTH = 16 * 1024;

/** Programs that change a text or an object on its way to the cluster. */
const TOOLS = /(?:^|[\s;|&(`])(?:\S*\/)?(sed|gsed|perl|yq|jq|helm|kubectl|oc|kustomize)(?=[ \t]+[^=\s])/g;

/**
 * The commands of a script that change what others have written: also in functions, branches and substitutions, for each of them may run. Their
 * variables stay unknown.
 */
export function changingCalls(text: string): readonly ScriptCall[] {
  const calls: ScriptCall[] = [];
  for (const match of text.matchAll(TOOLS)) {
    if (calls.length >= MAX_CALLS) break;
    const tool = match[1] ?? '';
    const at = match.index + match[0].length - tool.length;
    if (isInComment(text, at)) continue;
    calls.push({ tool, words: wordsFrom(text, at + tool.length), at });
  }
  return calls;
}

function isInComment(text: string, at: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1, at);
  return /^\s*#/.test(line);
}

/** The words up to the end of a command. */
function wordsFrom(text: string, from: number): readonly CallWord[] {
  const words: CallWord[] = [];
  const end = Math.min(text.length, from + MAX_CALL_LENGTH);
  let at = from;
  let word: { text: string; names: string[] } | undefined;
  const close = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  while (at < end) {
    const char = text.charAt(at);
    if (char === '\\') {
      if (text[at + 1] !== '\n') {
        word ??= { text: '', names: [] };
        word.text += text.charAt(at + 1);
      }
      at += 2;
    } else if (/[ \t]/.test(char)) {
      close();
      at += 1;
    } else if (/[\n;|&()`]/.test(char)) {
      break;
    } else if (char === '<' || char === '>') {
      // What it writes to is not changed, and what it reads is named by the word behind.
      close();
      const isOut = char === '>';
      at += /^[<>&]+[ \t]*/.exec(text.slice(at, at + 20))?.[0].length ?? 1;
      if (isOut) at += /^[^\s;|&()]*/.exec(text.slice(at, at + 1000))?.[0].length ?? 0;
    } else {
      word ??= { text: '', names: [] };
      at = quotedFrom(text, at, end, word);
    }
  }
  close();
  return words;
}

/** Adds what stands at a place to a word, and says where it ends. */
function quotedFrom(text: string, at: number, end: number, word: { text: string; names: string[] }): number {
  const char = text.charAt(at);
  if (char === "'") {
    const close = text.indexOf("'", at + 1);
    const stop = close === -1 || close > end ? end : close;
    word.text += text.slice(at + 1, stop);
    return stop + 1;
  }
  if (char === '"') {
    let inner = at + 1;
    while (inner < end && text[inner] !== '"') {
      if (text[inner] === '\\' && /["\\$`\n]/.test(text[inner + 1] ?? '')) {
        word.text += text.charAt(inner + 1);
        inner += 2;
      } else if (text[inner] === '$') inner = variableFrom(text, inner, word);
      else {
        word.text += text.charAt(inner);
        inner += 1;
      }
    }
    return inner + 1;
  }
  if (char === '$') return variableFrom(text, at, word);
  word.text += char;
  return at + 1;
}

function variableFrom(text: string, at: number, word: { text: string; names: string[] }): number {
  const rest = text.slice(at, at + 2_000);
  const name = /^\$(?:\{([^}]*)\}|(\w+|[@*#?!$-]))/.exec(rest);
  if (name !== null) {
    word.text += UNKNOWN;
    word.names.push((name[1] ?? name[2] ?? '').replace(/[:%#/].*$/s, ''));
    return at + name[0].length;
  }
  if (!rest.startsWith('$(')) {
    word.text += '$';
    return at + 1;
  }
  let depth = 0;
  for (let inner = 1; inner < rest.length; inner += 1) {
    if (rest[inner] === '(') depth += 1;
    if (rest[inner] === ')') depth -= 1;
    if (depth === 0) {
      word.text += UNKNOWN;
      return at + inner + 1;
    }
  }
  word.text += UNKNOWN;
  return at + rest.length;
}
