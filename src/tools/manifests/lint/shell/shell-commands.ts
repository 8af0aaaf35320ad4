import {
  type Assignment,
  type Command,
  forEachChild,
  parse,
  type Word as ShellWord,
  type SyntaxNode,
  type WordPart,
} from 'unbash';
import type { InnerText } from '../text/scalar-text.js';
import type { Located, Span } from '../text/span.js';

/** Longest script that is read: those in manifests are some lines, launch scripts some hundred. */
const MAX_SCRIPT_LENGTH = 256 * 1024;

/** Commands that are read of one script. */
const MAX_COMMANDS = 2_000;

/** Longest word that expansions may produce: the limit of Linux for one argument. */
const MAX_WORD_LENGTH = 128 * 1024;

/** Statements whose commands run under a condition. */
const BRANCHES: readonly string[] = ['If', 'Case'];

/** Statements in which an assignment does not hold for all that follows. */
const UNCERTAIN: readonly string[] = ['Function', 'For', 'ArithmeticFor', 'While', 'Select', 'Subshell'];

/** Commands that only ask: what follows them behind `&&` may not run. */
const QUESTIONS: readonly string[] = [
  '[',
  'test',
  'grep',
  'command',
  'which',
  'type',
  'nvidia-smi',
  'true',
  'false',
];

/** A word of a command as its program gets it. */
export interface Word {
  /** Undefined when it depends on something that is known only at run time. */
  readonly value: string | undefined;
  readonly span: Span;
  /** Whether it may stand for any number of further arguments: `$EXTRA_ARGS`, `"$@"`. */
  readonly mayBeMore: boolean;
}

/** A command of a script, with the variables that it is given beside those of its process. */
export interface ShellCommand {
  readonly words: readonly Word[];
  readonly env: ReadonlyMap<string, Word>;
  /** Whether it stands in a branch of `if` or `case`, or behind a test. */
  readonly isConditional: boolean;
}

/** The commands of a script, in its order, whatever conditions and loops they are in. */
export function readShellCommands(
  script: InnerText,
  env: ReadonlyMap<string, Located | undefined>,
): readonly ShellCommand[] {
  if (script.value.length > MAX_SCRIPT_LENGTH) {
    return [];
  }
  return new ScriptReader(script, env).read();
}

class ScriptReader {
  readonly #script: InnerText;
  readonly #commands: ShellCommand[] = [];
  /** Variables of the shell, exported or not. */
  readonly #variables: Map<string, string | undefined>;
  readonly #exported = new Map<string, Word>();
  readonly #assigned = new Map<string, Word>();
  #exportsAll = false;
  #branches = 0;
  #uncertain = 0;

  constructor(script: InnerText, env: ReadonlyMap<string, Located | undefined>) {
    this.#script = script;
    this.#variables = new Map([...env].map(([name, located]) => [name, located?.value]));
  }

  read(): readonly ShellCommand[] {
    this.#visit(parse(this.#script.value));
    return this.#commands;
  }

  #visit(node: SyntaxNode): void {
    if (this.#commands.length >= MAX_COMMANDS) {
      return;
    }
    if (node.type === 'Command') {
      this.#command(node);
      return;
    }
    // A substitution's own commands are tools that make values, and its places are not always those of the script.
    if (node.type === 'Word') {
      return;
    }
    const isBranch = BRANCHES.includes(node.type) || isChoice(node) ? 1 : 0;
    const isUncertain = isBranch === 1 || UNCERTAIN.includes(node.type) ? 1 : 0;
    this.#branches += isBranch;
    this.#uncertain += isUncertain;
    forEachChild(node, (child) => {
      this.#visit(child);
    });
    this.#branches -= isBranch;
    this.#uncertain -= isUncertain;
  }

  #command(command: Command): void {
    const prefix = new Map<string, Word>();
    for (const one of command.prefix) {
      if (one.type === 'Assignment') {
        prefix.set(one.name, this.#assignment(one));
      }
    }
    if (command.name === undefined) {
      for (const [name, word] of prefix) {
        this.#assign(name, word);
      }
      return;
    }
    const name = this.#words(command.name)[0];
    if (name?.value === 'export' || name?.value === 'declare') {
      this.#export(command);
      return;
    }
    if (name?.value === 'set') {
      const options = command.args.map((one) => (one.type === 'Word' ? one.value : ''));
      this.#exportsAll ||= options.some((option) => /^-\w*a/.test(option) || option === 'allexport');
    }
    const words = [
      ...this.#words(command.name),
      ...command.args.flatMap((one) => (one.type === 'Word' ? this.#words(one) : [this.#literal(one)])),
    ];
    const env = new Map([...this.#exported, ...prefix]);
    this.#commands.push({ words, env, isConditional: this.#branches > 0 });
  }

  #export(command: Command): void {
    for (const one of command.args) {
      if (one.type === 'Assignment') {
        const word = this.#assignment(one);
        this.#assign(one.name, word);
        this.#exported.set(one.name, this.#certain(word));
      } else {
        const word = this.#assigned.get(one.value);
        if (word !== undefined) {
          this.#exported.set(one.value, word);
        }
      }
    }
  }

  #assign(name: string, assigned: Word): void {
    const word = this.#certain(assigned);
    // A variable that is already there from outside stays one of the environment.
    const isOfEnvironment = this.#variables.has(name) && !this.#assigned.has(name);
    this.#variables.set(name, word.value);
    this.#assigned.set(name, word);
    if (this.#exportsAll || isOfEnvironment || this.#exported.has(name)) {
      this.#exported.set(name, word);
    }
  }

  /** A value that may have been set or not, as far as what follows is concerned. */
  #certain(word: Word): Word {
    return this.#uncertain > 0 ? { ...word, value: undefined } : word;
  }

  #assignment(assignment: Assignment): Word {
    const { value } = assignment;
    if (value.type === 'ArrayValue' || assignment.append) {
      return { value: undefined, span: this.#span(assignment), mayBeMore: true };
    }
    const [word, ...rest] = this.#words(value, false);
    return word !== undefined && rest.length === 0
      ? word
      : { value: word === undefined ? '' : undefined, span: this.#span(assignment), mayBeMore: false };
  }

  #literal(node: { readonly text: string; readonly pos: number; readonly end: number }): Word {
    return { value: node.text, span: this.#span(node), mayBeMore: false };
  }

  /** What a word of the script becomes: several for an expansion without quotes, one mostly. */
  #words(word: ShellWord, splits = true): readonly Word[] {
    const { parts } = word;
    if (parts === undefined || parts.length === 0) {
      return [{ value: word.value, span: this.#exact(word, word.value), mayBeMore: false }];
    }
    let value: string | undefined = '';
    let mayBeMore = false;
    let hasExpansion = false;
    for (const part of parts) {
      const read = this.#part(part);
      value = value === undefined || read.value === undefined ? undefined : bounded(value + read.value);
      mayBeMore ||= read.mayBeMore;
      hasExpansion ||= read.isBare;
    }
    if (splits && hasExpansion && value !== undefined && /\s/.test(value)) {
      const span = { ...this.#span(word), isExact: false };
      return value
        .split(/\s+/)
        .filter((one) => one !== '')
        .map((one) => ({ value: one, span, mayBeMore: false }));
    }
    return [{ value, span: this.#exact(word, value), mayBeMore: value === undefined && mayBeMore }];
  }

  #part(part: WordPart): {
    readonly value: string | undefined;
    readonly mayBeMore: boolean;
    readonly isBare: boolean;
  } {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
      case 'Glob':
        return { value: part.value, mayBeMore: false, isBare: false };
      case 'DoubleQuoted': {
        const parts = part.parts.map((one) => this.#part(one));
        const isKnown = parts.every(({ value }) => value !== undefined);
        return {
          value: isKnown ? joined(parts) : undefined,
          mayBeMore: part.parts.some((one) => /^\$(?:@|\{[^}]*@\]?\})/.test(one.text)),
          isBare: false,
        };
      }
      case 'SimpleExpansion':
      case 'ParameterExpansion':
        return { value: this.#expansion(part), mayBeMore: true, isBare: true };
      default:
        return { value: undefined, mayBeMore: true, isBare: true };
    }
  }

  #expansion(
    part: Extract<WordPart, { type: 'SimpleExpansion' | 'ParameterExpansion' }>,
  ): string | undefined {
    if (part.type === 'SimpleExpansion') {
      return this.#variables.get(part.text.slice(1));
    }
    const { operation, parameter, prefix, index } = part;
    if (prefix !== undefined || index !== undefined) {
      return undefined;
    }
    const known = this.#variables.get(parameter);
    if (operation === undefined) {
      return known;
    }
    if (operation.type !== 'Default' || !['-', ':-', '=', ':='].includes(operation.operator)) {
      return undefined;
    }
    if (this.#variables.has(parameter)) {
      return known;
    }
    const [word, ...rest] = this.#words(operation.operand, false);
    return rest.length === 0 ? word?.value : undefined;
  }

  #span({ pos, end }: { readonly pos: number; readonly end: number }): Span {
    return this.#script.spanOf(pos, end);
  }

  /** The place of a word's value, inside its quotes when it is all quoted. */
  #exact(word: ShellWord, value: string | undefined): Span {
    const at = value === undefined || value === '' ? -1 : word.text.indexOf(value);
    if (at === -1 || value === undefined) {
      return { ...this.#span(word), isExact: false };
    }
    return this.#script.spanOf(word.pos + at, word.pos + at + value.length);
  }
}

/** Whether a list of commands goes on only under a condition: `a || b`, `[ x ] && b`; `cd x && b` is none. */
function isChoice(node: SyntaxNode): boolean {
  return (
    node.type === 'AndOr' &&
    (node.operators.includes('||') ||
      node.commands.some(
        (one) =>
          one.type === 'TestCommand' ||
          one.type === 'ArithmeticCommand' ||
          (one.type === 'Command' && QUESTIONS.includes(one.name?.value ?? '')),
      ))
  );
}

/** Undefined for what no program could be given: variables in variables grow beyond any measure. */
function bounded(value: string): string | undefined {
  return value.length <= MAX_WORD_LENGTH ? value : undefined;
}

function joined(parts: readonly { readonly value: string | undefined }[]): string | undefined {
  const length = parts.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
  return length <= MAX_WORD_LENGTH ? parts.map(({ value }) => value).join('') : undefined;
}
