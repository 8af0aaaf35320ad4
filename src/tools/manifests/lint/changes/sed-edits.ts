import { UNKNOWN } from '../shell/words.js';

/** What a program that edits lines does to those that it means. */
export interface LineEdit {
  /** Texts that such a line has, one behind the other; none where any line may be meant. */
  readonly parts: readonly string[];
  /** Whether all of the line may be another one, and not only what the texts say. */
  readonly isWhole: boolean;
  /** What it puts there, as far as that is known. */
  readonly adds: string;
}

/** Commands of one script of sed. */
const MAX_EDITS = 100;

/**
 * What `sed` and the `s///` of Perl do. Patterns are never run: the texts that stand in one say which lines it means, at least.
 */
export function sedEdits(script: string, isExtended: boolean): readonly LineEdit[] {
  const edits: LineEdit[] = [];
  let at = 0;
  while (at < script.length && edits.length < MAX_EDITS) {
    at += /^[\s;{}]*/.exec(script.slice(at))?.[0].length ?? 0;
    if (at >= script.length) break;
    const address = addressAt(script, at);
    at = address.end;
    const command = script.charAt(at);
    const parts = address.pattern === undefined ? [] : partsOf(address.pattern, isExtended);
    if (command === 's' || command === 'y') {
      const delimiter = script.charAt(at + 1);
      const pattern = until(script, at + 2, delimiter);
      const replacement = until(script, pattern.end, delimiter);
      at = replacement.end + (/^[\w]*/.exec(script.slice(replacement.end))?.[0].length ?? 0);
      const own = partsOf(pattern.text, isExtended);
      const isOpen = /^(?:\.\*|\(\.\*)|\*\)?\$?$|\.\+\)?\$?$/.test(pattern.text);
      edits.push(
        command === 'y' || (own.length === 0 && parts.length > 0)
          ? { parts, isWhole: true, adds: replacement.text }
          : { parts: own, isWhole: isOpen, adds: replacement.text },
      );
    } else if (/[aicr]/.test(command)) {
      const end = script.indexOf('\n', at);
      const rest = script.slice(at + 1).replace(/^\s*\\?\n?\s*/, '');
      edits.push({ parts, isWhole: command === 'c', adds: command === 'r' ? UNKNOWN : rest });
      at = end === -1 || rest.includes('\n') ? script.length : end;
    } else if (command === 'd' || command === 'D') {
      edits.push({ parts, isWhole: true, adds: '' });
      at += 1;
    } else at += 1;
  }
  return edits;
}

/** `/pattern/`, `5`, `$`, and ranges of them, of which only the first is looked at. */
function addressAt(script: string, from: number): { readonly pattern?: string; readonly end: number } {
  let at = from;
  let pattern: string | undefined;
  for (;;) {
    const rest = script.slice(at);
    if (rest.startsWith('/') || /^\\[^\w\s]/.test(rest)) {
      const isOwn = rest.startsWith('\\');
      const found = until(script, at + (isOwn ? 2 : 1), script.charAt(isOwn ? at + 1 : at));
      pattern ??= found.text;
      at = found.end + (/^[IM]*/.exec(script.slice(found.end))?.[0].length ?? 0);
    } else {
      const plain = /^(?:\d+(?:~\d+)?|\$(?!\w))/.exec(rest)?.[0].length ?? 0;
      if (plain === 0) break;
      at += plain;
    }
    const next = /^\s*,\s*[+~]?/.exec(script.slice(at))?.[0].length ?? 0;
    if (next === 0) break;
    // From one line to another: all between them may be meant.
    pattern = '';
    at += next;
  }
  at += /^\s*!?\s*/.exec(script.slice(at))?.[0].length ?? 0;
  return { ...(pattern === undefined ? {} : { pattern }), end: at };
}

/** The text up to a delimiter that no backslash stands before, and where the next one begins. */
function until(
  script: string,
  from: number,
  delimiter: string,
): { readonly text: string; readonly end: number } {
  let text = '';
  let at = from;
  while (at < script.length && script[at] !== delimiter) {
    if (script[at] === '\\' && at + 1 < script.length) {
      text += script[at + 1] === delimiter ? delimiter : script.slice(at, at + 2);
      at += 2;
    } else {
      text += script.charAt(at);
      at += 1;
    }
  }
  return { text, end: at + 1 };
}

/** The texts that stand in a pattern whatever it matches; none where it has branches. */
function partsOf(pattern: string, isExtended: boolean): readonly string[] {
  if (isExtended ? /(?<!\\)\|/.test(pattern) : pattern.includes('\\|')) return [];
  const parts: string[] = [];
  let part = '';
  const close = (): void => {
    if (part.trim() !== '') parts.push(part);
    part = '';
  };
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    const next = pattern.charAt(at + 1);
    if (char === '\\') {
      // A letter behind it is a class, and the signs of groups are such only with it or only without it.
      if (/[\w<>]/.test(next) || (!isExtended && /[(){}+?|]/.test(next))) {
        if (/[+?{]/.test(next)) part = part.slice(0, -1);
        close();
        if (next === '{') at = skipTo(pattern, at, '\\}');
      } else part += next;
      at += 1;
    } else if (char === '[') {
      close();
      const first = at + (next === '^' ? 2 : 1);
      at = closingBracket(pattern, first);
    } else if (char === '*' || (isExtended && /[+?{]/.test(char))) {
      part = part.slice(0, -1);
      close();
      if (char === '{') at = skipTo(pattern, at, '}');
    } else if (
      char === '.' ||
      char === '^' ||
      char === '$' ||
      char === UNKNOWN ||
      (isExtended && /[()]/.test(char))
    )
      close();
    else part += char;
  }
  close();
  return parts;
}

function skipTo(pattern: string, from: number, end: string): number {
  const found = pattern.indexOf(end, from);
  return found === -1 ? pattern.length : found + end.length - 1;
}

/** The end of `[…]`, in which a bracket may stand first, and classes as `[:space:]`. */
function closingBracket(pattern: string, first: number): number {
  let at = pattern[first] === ']' ? first + 1 : first;
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern.startsWith('[:', at)) at = skipTo(pattern, at, ':]');
    at += 1;
  }
  return at;
}
