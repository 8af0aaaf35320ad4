import {
  type Assignment,
  type For,
  forEachChild,
  type Select,
  type Word as ShellWord,
  type SyntaxNode,
  type WordPart,
} from 'unbash';
import type { InnerText } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';
import { overridingText, overridingWords } from './overriding-flags.js';
import type { VariableStore } from './variable-store.js';
import { joinTexts, textOfWord, UNKNOWN, type Word, wordOfText } from './words.js';
import { ownFolder, pathFromStart } from './working-folder.js';
import type { Expansions } from './written-files.js';

type Parameter = Extract<WordPart, { type: 'ParameterExpansion' }>;

/** Commands whose arguments are assignments. */
export const DECLARING: readonly string[] = ['export', 'declare', 'local', 'readonly', 'typeset'];

/** Operators of `${NAME:-default}` that give the default for a variable which is not set. */
const DEFAULTS: readonly string[] = ['-', ':-', '=', ':='];

/** The variables of a shell while it runs a script: texts and arrays, and which of them its commands get. */
export class ShellVariables implements Expansions {
  readonly #script: InnerText;
  readonly #store: VariableStore;
  /** `declare -n A=B`: what is given to `A` is given to `B`. */
  readonly #references = new Map<string, string>();
  /** Where the script is: `$PWD`. */
  folder = '.';

  constructor(script: InnerText, store: VariableStore) {
    this.#script = script;
    this.#store = store;
  }

  /** `export A=b C`, `declare -a A=(b)`, `local A=b`. */
  declare(args: readonly (ShellWord | Assignment)[], isExport: boolean): void {
    this.#store.change(() => {
      this.#declare(args, isExport);
    });
  }

  #declare(args: readonly (ShellWord | Assignment)[], isExport: boolean): void {
    const isReference = args.some((one) => one.type === 'Word' && /^-\w*n/.test(one.value));
    for (const one of args) {
      if (one.type === 'Assignment') {
        if (isReference && one.value.type !== 'ArrayValue')
          this.#references.set(one.name, this.textOf(one.value));
        this.#assign(one);
        const word = this.#store.assigned.get(one.name);
        if (isExport && word !== undefined && one.value.type !== 'ArrayValue')
          this.#store.exported.set(one.name, word);
      } else if (isExport) {
        const word = this.#store.assigned.get(one.value);
        if (word !== undefined) this.#store.exported.set(one.value, word);
      }
    }
  }

  /** `A=b`, `A+=b`, `A=(b c)`, `A+=(d)`, `A[1]=b`. */
  assign(assignment: Assignment): void {
    this.#store.change(() => {
      this.#assign(assignment);
    });
  }

  #assign(assignment: Assignment): void {
    const { name, value, append, index } = assignment;
    const target = this.#references.get(name);
    if (target !== undefined) this.#store.forget({ names: [target], exported: [], all: false }, assignment);
    if (
      value.type === 'ArrayValue' ||
      index !== undefined ||
      (append === true && this.#store.arrays.has(name))
    ) {
      const before = append === true || index !== undefined ? this.#arrayOf(name) : [];
      const words =
        value.type === 'ArrayValue'
          ? value.elements.flatMap((one) => this.wordsOf(one))
          : this.wordsOf(value);
      const isKnown = this.#store.isCertain && index === undefined;
      this.#store.texts.delete(name);
      const open = { ...this.#store.unknown(assignment), mayBeMore: true };
      this.#store.arrays.set(
        name,
        isKnown ? [...before, ...words] : [...before, ...overridingWords(before, words, open), open],
      );
      return;
    }
    const word = this.valueOf(assignment, this.#store.isCertain);
    // A variable that is already there from outside stays one of the environment.
    const isHandedOn = this.#store.exportsAll || this.#store.isExported(name);
    this.#store.arrays.delete(name);
    this.#store.texts.set(name, textOfWord(word));
    this.#store.assigned.set(name, word);
    if (isHandedOn) this.#store.exported.set(name, word);
  }

  /** What a loop sets is not known when it begins, as it may have run before; of `CMD="$CMD --flag"` what it was is. */
  beginLoop(loop: SyntaxNode): void {
    const { isCertain } = this.#store;
    for (const one of assignmentsIn(loop)) {
      this.#store.isCertain = false;
      if (one.type === 'Assignment') this.assign(one);
      else this.#store.forget({ names: [one.name.value], exported: [], all: false }, one);
    }
    this.#store.isCertain = isCertain;
  }

  /** What an assignment gives: to the command that it stands before, or, where it may not run, to what follows. */
  valueOf(assignment: Assignment, isCertain = true): Word {
    const { name, value, append } = assignment;
    if (value.type === 'ArrayValue') return { ...this.#store.unknown(assignment), mayBeMore: true };
    const span = this.#script.spanOf(assignment.pos, assignment.end);
    if (append === true) {
      const before = this.#store.texts.get(name) ?? UNKNOWN;
      return wordOfText(
        isCertain ? joinTexts([before, this.textOf(value)]) : this.#longer(before, this.textOf(value)),
        { ...span, isExact: false },
        true,
      );
    }
    if (!isCertain) return this.#mayBeLonger(assignment, this.textOf(value), { ...span, isExact: false });
    const [word, ...rest] = this.wordsOf(value, false);
    return word !== undefined && rest.length === 0
      ? word
      : { value: '', span: { ...span, isExact: false }, mayBeMore: false };
  }

  /** What a variable may have become: of `CMD="$CMD --flag"` what it was stays known. */
  #mayBeLonger(assignment: Assignment, text: string, span: Span): Word {
    const before = this.#store.texts.get(assignment.name) ?? '';
    if (before.replaceAll(UNKNOWN, '').trim() === '' || !text.startsWith(before))
      return this.#store.unknown(assignment);
    return wordOfText(this.#longer(before, text.slice(before.length)), span, true);
  }

  /** A text to which something may have been added. */
  #longer(before: string, added: string): string {
    const gap = /^\s/.test(added) ? ' ' : '';
    const again = gap === '' ? '' : overridingText(before, added);
    return joinTexts([before, gap, again, again === '' ? '' : ' ', UNKNOWN]);
  }

  /** A part of a command that is taken as it is written. */
  literal(node: { readonly text: string; readonly pos: number; readonly end: number }): Word {
    return { value: node.text, span: this.#script.spanOf(node.pos, node.end), mayBeMore: false };
  }

  /** What a word of the script becomes: several for an array and for an expansion without quotes, one mostly. */
  wordsOf(word: ShellWord, splits = true): readonly Word[] {
    const { parts } = word;
    if (parts === undefined || parts.length === 0)
      // A text that another script has put together may have unknown parts.
      return [wordOfText(word.value, this.#exact(word, word.value), true)];
    const [part] = parts;
    const array = parts.length === 1 && part !== undefined && splits ? this.#arrayIn(part) : undefined;
    if (array !== undefined) return array;
    const text = joinTexts(parts.map((one) => this.textOfPart(one)));
    const hasBare = parts.some(isBare);
    if (splits && hasBare && (/\s/.test(text) || text === '')) {
      const span = { ...this.#script.spanOf(word.pos, word.end), isExact: false };
      return text
        .split(/\s+/)
        .filter((one) => one !== '')
        .map((one) => wordOfText(one, span, true));
    }
    const mayBeMore = hasBare || parts.some((one) => isMany(one));
    const span = this.#exact(word, text);
    // The default of a variable is no value that could be changed in its place.
    const isWritten =
      !parts.some(isBare) &&
      !parts.some((one) => one.type === 'DoubleQuoted' && one.parts.some((inner) => isBare(inner)));
    return [wordOfText(text, isWritten ? span : { ...span, isExact: false }, mayBeMore)];
  }

  /** A word as one text. */
  textOf(word: ShellWord): string {
    const { parts } = word;
    return parts === undefined || parts.length === 0
      ? word.value
      : joinTexts(parts.map((one) => this.textOfPart(one)));
  }

  /** A part of a word as a text. */
  textOfPart(part: WordPart): string {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
      case 'Glob':
        return part.value;
      case 'DoubleQuoted':
        return joinTexts(part.parts.map((one) => this.textOfPart(one)));
      case 'SimpleExpansion':
        return this.#textNamed(part.text.slice(1)) ?? this.#joined(part.text.slice(1)) ?? UNKNOWN;
      case 'ParameterExpansion':
        return this.#expansion(part);
      case 'CommandExpansion':
        return /^(?:\$\(\s*pwd\s*\)|`pwd`)$/.test(part.text)
          ? pathFromStart(this.folder)
          : (ownFolder(part.text) ?? UNKNOWN);
      default:
        return UNKNOWN;
    }
  }

  #expansion(part: Parameter): string {
    const { operation, parameter, prefix, index } = part;
    if (prefix !== undefined) return UNKNOWN;
    if (index !== undefined) {
      const item = /^\d+$/.test(index.value)
        ? this.#store.arrays.get(parameter)?.[Number(index.value)]
        : undefined;
      return index.value === '*' && operation === undefined
        ? (this.#joined(parameter) ?? UNKNOWN)
        : item === undefined
          ? UNKNOWN
          : textOfWord(item);
    }
    const known = this.#textNamed(parameter);
    if (operation === undefined) return known ?? UNKNOWN;
    if (operation.type !== 'Default') return UNKNOWN;
    if (['+', ':+'].includes(operation.operator)) {
      if (known === undefined || known.includes(UNKNOWN)) return UNKNOWN;
      return known === '' ? '' : this.textOf(operation.operand);
    }
    if (!DEFAULTS.includes(operation.operator)) return known ?? UNKNOWN;
    // An empty variable has the default, too, behind a colon.
    if (known !== undefined && (known !== '' || !operation.operator.startsWith(':'))) return known;
    return this.#store.hasUnseen && known === undefined ? UNKNOWN : this.textOf(operation.operand);
  }

  #textNamed(name: string): string | undefined {
    return this.#store.texts.get(name) ?? (name === 'PWD' ? pathFromStart(this.folder) : undefined);
  }

  #joined(name: string): string | undefined {
    const words = this.#store.arrays.get(name);
    return words === undefined
      ? undefined
      : joinTexts(words.flatMap((word, at) => [at === 0 ? '' : ' ', textOfWord(word)]));
  }

  /** The words of `"${A[@]}"`, also as `${A[@]+"${A[@]}"}`; undefined for what is no array. */
  #arrayIn(part: WordPart): readonly Word[] | undefined {
    const inner = part.type === 'DoubleQuoted' && part.parts.length === 1 ? part.parts[0] : part;
    if (inner?.type !== 'ParameterExpansion' || inner.prefix !== undefined) return undefined;
    const { parameter, index, operation } = inner;
    if (index?.value !== '@' && !(index?.value === '*' && part.type !== 'DoubleQuoted')) return undefined;
    if (operation !== undefined && operation.type !== 'Default') return undefined;
    return (
      this.#store.arrays.get(parameter) ??
      (this.#store.texts.has(parameter) ? this.#arrayOf(parameter) : undefined)
    );
  }

  #arrayOf(name: string): readonly Word[] {
    const text = this.#store.texts.get(name);
    const word = this.#store.assigned.get(name);
    return (
      this.#store.arrays.get(name) ??
      (text === undefined || word === undefined
        ? [{ value: undefined, span: this.#script.spanOf(0, 0), mayBeMore: true }]
        : [word])
    );
  }

  /** The place of a word's value, inside its quotes when it is all quoted. */
  #exact(word: ShellWord, value: string): Span {
    const at = value === '' ? -1 : word.text.indexOf(value);
    return at === -1
      ? { ...this.#script.spanOf(word.pos, word.end), isExact: false }
      : this.#script.spanOf(word.pos + at, word.pos + at + value.length);
  }
}

/** What a statement sets, in its shell itself, and the loops in it that give values to a name. */
function assignmentsIn(node: SyntaxNode): readonly (Assignment | For | Select)[] {
  if (node.type === 'Assignment') return [node];
  if (['Word', 'Subshell', 'Function'].includes(node.type)) return [];
  if (node.type === 'Command' && node.name !== undefined && !DECLARING.includes(node.name.value)) return [];
  const found: (Assignment | For | Select)[] = node.type === 'For' || node.type === 'Select' ? [node] : [];
  forEachChild(node, (child) => {
    found.push(...assignmentsIn(child));
  });
  return found;
}

/** Whether a part is an expansion that the shell splits. */
function isBare({ type }: WordPart): boolean {
  return !['Literal', 'SingleQuoted', 'AnsiCQuoted', 'Glob', 'DoubleQuoted'].includes(type);
}

/** Whether a part in quotes stands for any number of words: `"$@"`, `"${A[@]}"`. */
function isMany(part: WordPart): boolean {
  return part.type === 'DoubleQuoted' && part.parts.some(({ text }) => /^\$(?:@|\{[^}]*@\]?\})/.test(text));
}
