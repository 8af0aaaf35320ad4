import type { Assignment, Word as ShellWord, WordPart } from 'unbash';
import type { InnerText } from '../text/scalar-text.js';
import type { Located, Span } from '../text/span.js';
import { joinTexts, textOfWord, UNKNOWN, type Word, wordOfText } from './words.js';
import type { Expansions } from './written-files.js';

type Parameter = Extract<WordPart, { type: 'ParameterExpansion' }>;

/** Operators of `${NAME:-default}` that give the default for a variable which is not set. */
const DEFAULTS: readonly string[] = ['-', ':-', '=', ':='];

/** `$(dirname "$0")` and its kin: the folder of the script itself. */
const OWN_FOLDER = /\bdirname\b.*(?:\$\{?0|BASH_SOURCE)/s;

/** The variables of a shell while it runs a script: texts and arrays, and which of them its commands get. */
export class ShellVariables implements Expansions {
  readonly #script: InnerText;
  /** Variables of the shell, exported or not; parts that are not known are `UNKNOWN`. */
  #texts: Map<string, string>;
  #arrays = new Map<string, readonly Word[]>();
  #exported = new Map<string, Word>();
  #assigned = new Map<string, Word>();
  #exportsAll = false;
  /** What changed variables in the branch that is read. */
  #changes: (() => void)[] | undefined;
  /** Whether what is read now certainly runs. */
  isCertain = true;

  constructor(script: InnerText, env: ReadonlyMap<string, Located | undefined>) {
    this.#script = script;
    this.#texts = new Map([...env].map(([name, located]) => [name, located?.value ?? UNKNOWN]));
  }

  /** Those that programs get. */
  get exported(): ReadonlyMap<string, Word> {
    return this.#exported;
  }

  /**
   * Reads branches of which one runs, or none: each begins with what is known before all of them, and behind them nothing is known of
   * what any of them sets.
   */
  choose(branches: readonly (() => void)[]): void {
    const outer = this.#changes;
    const changes: (() => void)[] = [];
    const [texts, arrays, exported, assigned] = [this.#texts, this.#arrays, this.#exported, this.#assigned];
    const restore = (): void => {
      this.#texts = new Map(texts);
      this.#arrays = new Map(arrays);
      this.#exported = new Map(exported);
      this.#assigned = new Map(assigned);
    };
    for (const read of branches) {
      restore();
      this.#changes = [];
      read();
      changes.push(...this.#changes);
    }
    restore();
    this.#changes = outer;
    if (changes.length > 0)
      this.#change(() => {
        const { isCertain } = this;
        this.isCertain = false;
        for (const change of changes) change();
        this.isCertain = isCertain;
      });
  }

  #change(change: () => void): void {
    const outer = this.#changes;
    this.#changes = undefined;
    change();
    this.#changes = outer;
    outer?.push(change);
  }

  /** `set -a` and its kin. */
  setOptions(options: readonly string[]): void {
    this.#exportsAll ||= options.some((option) => /^-\w*a/.test(option) || option === 'allexport');
  }

  /** Variables that get values which are not known. */
  forget(names: readonly string[]): void {
    this.#change(() => {
      for (const name of names) {
        this.#arrays.delete(name);
        if (this.#texts.has(name)) this.#texts.set(name, UNKNOWN);
      }
    });
  }

  /** `export A=b C`, `declare -a A=(b)`, `local A=b`. */
  declare(args: readonly (ShellWord | Assignment)[], isExport: boolean): void {
    this.#change(() => {
      this.#declare(args, isExport);
    });
  }

  #declare(args: readonly (ShellWord | Assignment)[], isExport: boolean): void {
    for (const one of args) {
      if (one.type === 'Assignment') {
        this.#assign(one);
        const word = this.#assigned.get(one.name);
        if (isExport && word !== undefined && one.value.type !== 'ArrayValue')
          this.#exported.set(one.name, word);
      } else if (isExport) {
        const word = this.#assigned.get(one.value);
        if (word !== undefined) this.#exported.set(one.value, word);
      }
    }
  }

  /** `A=b`, `A+=b`, `A=(b c)`, `A+=(d)`, `A[1]=b`. */
  assign(assignment: Assignment): void {
    this.#change(() => {
      this.#assign(assignment);
    });
  }

  #assign(assignment: Assignment): void {
    const { name, value, append, index } = assignment;
    if (value.type === 'ArrayValue' || index !== undefined || (append === true && this.#arrays.has(name))) {
      const before = append === true || index !== undefined ? this.#arrayOf(name) : [];
      const words =
        value.type === 'ArrayValue'
          ? value.elements.flatMap((one) => this.wordsOf(one))
          : this.wordsOf(value);
      const isKnown = this.isCertain && index === undefined;
      this.#texts.delete(name);
      const open = { ...this.#unknown(assignment), mayBeMore: true };
      this.#arrays.set(
        name,
        isKnown ? [...before, ...words] : [...(append === true || index !== undefined ? before : []), open],
      );
      return;
    }
    const word = this.valueOf(assignment, this.isCertain);
    // A variable that is already there from outside stays one of the environment.
    const isOfEnvironment = this.#texts.has(name) && !this.#assigned.has(name);
    this.#arrays.delete(name);
    this.#texts.set(name, textOfWord(word));
    this.#assigned.set(name, word);
    if (this.#exportsAll || isOfEnvironment || this.#exported.has(name)) this.#exported.set(name, word);
  }

  /** What an assignment gives: to the command that it stands before, or, where it may not run, to what follows. */
  valueOf(assignment: Assignment, isCertain = true): Word {
    const { name, value, append } = assignment;
    if (value.type === 'ArrayValue') return { ...this.#unknown(assignment), mayBeMore: true };
    const span = this.#script.spanOf(assignment.pos, assignment.end);
    if (append === true) {
      const before = this.#texts.get(name) ?? UNKNOWN;
      return wordOfText(
        joinTexts([before, isCertain ? this.textOf(value) : UNKNOWN]),
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
    const before = this.#texts.get(assignment.name) ?? '';
    if (before.replaceAll(UNKNOWN, '').trim() === '' || !text.startsWith(before))
      return this.#unknown(assignment);
    const gap = /^\s/.test(text.slice(before.length)) ? ' ' : '';
    return wordOfText(joinTexts([before, gap, UNKNOWN]), span, true);
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
    return [wordOfText(text, this.#exact(word, text), mayBeMore)];
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
        return this.#texts.get(part.text.slice(1)) ?? this.#joined(part.text.slice(1)) ?? UNKNOWN;
      case 'ParameterExpansion':
        return this.#expansion(part);
      case 'CommandExpansion':
        return ownFolder(part.text) ?? UNKNOWN;
      default:
        return UNKNOWN;
    }
  }

  #expansion(part: Parameter): string {
    const { operation, parameter, prefix, index } = part;
    if (prefix !== undefined) return UNKNOWN;
    if (index !== undefined) {
      const item = /^\d+$/.test(index.value) ? this.#arrays.get(parameter)?.[Number(index.value)] : undefined;
      return index.value === '*' && operation === undefined
        ? (this.#joined(parameter) ?? UNKNOWN)
        : item === undefined
          ? UNKNOWN
          : textOfWord(item);
    }
    const known = this.#texts.get(parameter);
    if (operation === undefined) return known ?? UNKNOWN;
    if (operation.type !== 'Default') return UNKNOWN;
    if (['+', ':+'].includes(operation.operator)) {
      if (known === undefined || known.includes(UNKNOWN)) return UNKNOWN;
      return known === '' ? '' : this.textOf(operation.operand);
    }
    if (!DEFAULTS.includes(operation.operator)) return known ?? UNKNOWN;
    return known ?? this.textOf(operation.operand);
  }

  #joined(name: string): string | undefined {
    const words = this.#arrays.get(name);
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
    return this.#arrays.get(parameter) ?? (this.#texts.has(parameter) ? this.#arrayOf(parameter) : undefined);
  }

  #arrayOf(name: string): readonly Word[] {
    const text = this.#texts.get(name);
    const word = this.#assigned.get(name);
    return (
      this.#arrays.get(name) ??
      (text === undefined || word === undefined
        ? [{ value: undefined, span: this.#script.spanOf(0, 0), mayBeMore: true }]
        : [word])
    );
  }

  #unknown({ pos, end }: { readonly pos: number; readonly end: number }): Word {
    return { value: undefined, span: { ...this.#script.spanOf(pos, end), isExact: false }, mayBeMore: false };
  }

  /** The place of a word's value, inside its quotes when it is all quoted. */
  #exact(word: ShellWord, value: string): Span {
    const at = value === '' ? -1 : word.text.indexOf(value);
    return at === -1
      ? { ...this.#script.spanOf(word.pos, word.end), isExact: false }
      : this.#script.spanOf(word.pos + at, word.pos + at + value.length);
  }
}

/** Whether a part is an expansion that the shell splits. */
function isBare({ type }: WordPart): boolean {
  return !['Literal', 'SingleQuoted', 'AnsiCQuoted', 'Glob', 'DoubleQuoted'].includes(type);
}

/** Whether a part in quotes stands for any number of words: `"$@"`, `"${A[@]}"`. */
function isMany(part: WordPart): boolean {
  return part.type === 'DoubleQuoted' && part.parts.some(({ text }) => /^\$(?:@|\{[^}]*@\]?\})/.test(text));
}

/** The folder of the script as a path from itself: `.`, or `./..` for the one above. */
function ownFolder(text: string): string | undefined {
  if (!OWN_FOLDER.test(text)) return undefined;
  const count = (pattern: RegExp): number => text.match(pattern)?.length ?? 0;
  const ups = count(/\bdirname\b/g) - 1 + count(/\/\.\.(?=[/"')\s])/g);
  return ['.', ...Array.from({ length: Math.min(ups, 8) }, () => '..')].join('/');
}
