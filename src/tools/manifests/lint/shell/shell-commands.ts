import {
  type Assignment,
  type Command,
  forEachChild,
  type Pipeline,
  parse,
  type Word as ShellWord,
  type SyntaxNode,
} from 'unbash';
import type { InnerText } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';
import { type Choice, choiceOf } from './choices.js';
import { ShellVariables } from './shell-variables.js';
import type { Word } from './words.js';
import { passedOn, type Written, type WrittenFiles, writtenBy } from './written-files.js';

/** Longest script that is read: those in manifests are some lines, launch scripts some hundred. */
const MAX_SCRIPT_LENGTH = 256 * 1024;

/** Commands that are read of one script. */
const MAX_COMMANDS = 2_000;

/** Statements in which an assignment does not hold for all that follows. */
const UNCERTAIN: readonly string[] = ['Function', 'For', 'ArithmeticFor', 'While', 'Select', 'Subshell'];

/** Commands whose arguments are assignments. */
const DECLARING: readonly string[] = ['export', 'declare', 'local', 'readonly', 'typeset'];

/** Commands that give values to the variables that they name. */
const FILLING: readonly string[] = ['read', 'mapfile', 'readarray', 'unset', 'getopts'];

/** A command of a script, with the variables that it is given beside those of its process. */
export interface ShellCommand {
  readonly words: readonly Word[];
  readonly env: ReadonlyMap<string, Word>;
  /** The branches of `if` and `case`, or behind a test, in which it stands, from the outermost; empty for what runs in any case. */
  readonly branch: readonly string[];
  /** The files that the script has written before it. */
  readonly files: WrittenFiles;
}

/** The commands of a script, in its order, whatever conditions and loops they are in. */
export function readShellCommands(
  script: InnerText,
  env: ReadonlyMap<string, Located | undefined>,
): readonly ShellCommand[] {
  if (script.value.length > MAX_SCRIPT_LENGTH) return [];
  return new ScriptReader(script, env).read();
}

class ScriptReader {
  readonly #script: InnerText;
  readonly #commands: ShellCommand[] = [];
  readonly #variables: ShellVariables;
  #files: WrittenFiles = new Map();
  #branch: readonly string[] = [];
  #uncertain = 0;

  constructor(script: InnerText, env: ReadonlyMap<string, Located | undefined>) {
    this.#script = script;
    this.#variables = new ShellVariables(script, env);
  }

  read(): readonly ShellCommand[] {
    this.#visit(parse(this.#script.value));
    return this.#commands;
  }

  #visit(node: SyntaxNode): void {
    if (this.#commands.length >= MAX_COMMANDS) return;
    if (node.type === 'Command') {
      this.#command(node);
      return;
    }
    // A substitution's own commands are tools that make values, and its places are not always those of the script.
    if (node.type === 'Word') return;
    const choice = choiceOf(node);
    if (choice !== undefined) {
      this.#choose(node, choice);
      return;
    }
    const isUncertain = UNCERTAIN.includes(node.type) ? 1 : 0;
    this.#uncertain += isUncertain;
    this.#variables.isCertain = this.#uncertain === 0;
    forEachChild(node, (child) => {
      this.#visit(child);
    });
    if (node.type === 'Pipeline') this.#pipe(node);
    this.#uncertain -= isUncertain;
    this.#variables.isCertain = this.#uncertain === 0;
  }

  /** Each branch is read as if it ran; behind all of them it is not known what any of them set and wrote. */
  #choose(node: SyntaxNode, { before, arms }: Choice): void {
    for (const one of before) this.#visit(one);
    const outside = this.#branch;
    const files = this.#files;
    const written = new Set<string>();
    const { start } = this.#script.spanOf(node.pos, node.end);
    this.#variables.choose(
      arms.map((nodes, index) => () => {
        this.#branch = [...outside, `${start}.${node.pos}/${index}`];
        this.#files = files;
        for (const one of nodes) this.#visit(one);
        for (const [path, text] of this.#files) if (files.get(path) !== text) written.add(path);
      }),
    );
    this.#branch = outside;
    this.#files =
      written.size === 0
        ? files
        : new Map([...files, ...[...written].map((path) => [path, undefined] as const)]);
  }

  #command(command: Command): void {
    const variables = this.#variables;
    const prefix = new Map<string, Word>();
    const assignments = command.prefix.filter((one): one is Assignment => one.type === 'Assignment');
    if (command.name === undefined) {
      for (const one of assignments) variables.assign(one);
      return;
    }
    for (const one of assignments) prefix.set(one.name, variables.valueOf(one));
    const [name, ...restOfName] = variables.wordsOf(command.name);
    const tool = name?.value ?? '';
    if (DECLARING.includes(tool)) {
      variables.declare(command.args, tool === 'export' || tool === 'declare');
      return;
    }
    if (tool === 'set') variables.setOptions(command.args.map(plainText));
    if (FILLING.includes(tool)) variables.forget(command.args.map(plainText));
    const words = [
      ...(name === undefined ? [] : [name]),
      ...restOfName,
      ...command.args.flatMap((one) =>
        one.type === 'Word' ? variables.wordsOf(one) : [variables.literal(one)],
      ),
    ];
    const env = new Map([...variables.exported, ...prefix]);
    this.#commands.push({ words, env, branch: this.#branch, files: this.#files });
    this.#write(writtenBy(command, this.#script, this.#variables));
  }

  /** `cat <<EOF | tee FILE`: the document reaches the file by a pipe. */
  #pipe({ commands }: Pipeline): void {
    const [first, second] = commands;
    if (first?.type !== 'Command' || second?.type !== 'Command') return;
    const input = passedOn(first, this.#script, this.#variables);
    if (input !== undefined) this.#write(writtenBy(second, this.#script, this.#variables, input));
  }

  #write(written: readonly Written[]): void {
    if (written.length === 0) return;
    const files = new Map(this.#files);
    for (const { path, text } of written) files.set(path, this.#uncertain > 0 ? undefined : text);
    this.#files = files;
  }
}

function plainText(argument: ShellWord | Assignment): string {
  return argument.type === 'Word' ? argument.value : argument.name;
}
