import {
  type Assignment,
  type Command,
  forEachChild,
  parse,
  type Function as ShellFunction,
  type Word as ShellWord,
  type SyntaxNode,
} from 'unbash';
import type { InnerText } from '../text/scalar-text.js';
import type { Located } from '../text/span.js';
import { changedBy, countedIn } from './changed-names.js';
import { type Choice, choiceOf } from './choices.js';
import { everyCommand } from './every-command.js';
import { RunningJobs } from './running-jobs.js';
import type { ShellCommand, ShellLibrary } from './shell-command.js';
import { DECLARING, ShellVariables } from './shell-variables.js';
import { isTalk, onlyTalks } from './talk.js';
import { VariableStore } from './variable-store.js';
import { givenBy, textOfWord, UNKNOWN, type Word } from './words.js';
import { pathIn, WorkingFolder } from './working-folder.js';
import {
  documentOf,
  pipedTo,
  redirectedBy,
  type Written,
  type WrittenFiles,
  writtenBy,
} from './written-files.js';

/** Longest script that is read: those in manifests are some lines, launch scripts some hundred. */
const MAX_SCRIPT_LENGTH = 256 * 1024;

/** Commands that are read of one script. */
const MAX_COMMANDS = 2_000;

/** Statements whose body runs any number of times. */
const LOOPS: readonly string[] = ['For', 'ArithmeticFor', 'While', 'Select'];

/** Branches that end a script, one behind the other, that are kept apart from what follows. */
const MAX_ENDINGS = 20;

/** Functions that call each other: more than this is a circle. */
const MAX_CALLS = 8;

/** Commands that change the shell which they run in. */
const CHANGING: ReadonlySet<string> = new Set([
  ...['set', 'shift', 'unset', 'read', 'mapfile', 'readarray', 'getopts', 'printf', 'let', 'wait'],
  ...['source', '.', 'eval', 'cd', 'pushd', 'popd'],
]);

/** The commands of a script, in its order, whatever conditions and loops they are in. */
export function readShellCommands(
  script: InnerText,
  env: ReadonlyMap<string, Located | undefined>,
  library: ShellLibrary = {},
): readonly ShellCommand[] {
  if (script.value.length > MAX_SCRIPT_LENGTH) return [];
  return new ScriptReader(script, env, library).read();
}

class ScriptReader {
  readonly #script: InnerText;
  readonly #library: ShellLibrary;
  readonly #commands: ShellCommand[] = [];
  readonly #store: VariableStore;
  readonly #variables: ShellVariables;
  readonly #folder = new WorkingFolder();
  readonly #jobs = new RunningJobs();
  readonly #functions = new Map<string, ShellFunction>();
  /** Those of them that nothing comes of. */
  readonly #talking = new Set<string>();
  /** The names that commands have: a function with such a name runs where it is called. */
  #called: ReadonlySet<string | undefined> = new Set();
  /** What commands get by a pipe. */
  readonly #inputs = new Map<Command, InnerText>();
  /** The functions that are being called, each with the variables that it declares for itself. */
  readonly #calls: { readonly name: string; readonly restore: (() => void)[] }[] = [];
  #files: WrittenFiles = new Map();
  #branch: readonly string[] = [];
  #uncertain = 0;

  constructor(script: InnerText, env: ReadonlyMap<string, Located | undefined>, library: ShellLibrary) {
    this.#script = script;
    this.#library = library;
    this.#store = new VariableStore(script, env);
    this.#variables = new ShellVariables(script, this.#store);
  }

  read(): readonly ShellCommand[] {
    const script = parse(this.#script.value);
    this.#called = new Set(everyCommand(script, 'own').map(({ command }) => command.name?.value));
    const { args } = this.#library;
    if (args !== undefined) this.#store.withArguments(givenBy(args), script);
    this.#visit(script);
    return this.#commands;
  }

  #visit(node: SyntaxNode): void {
    if (this.#commands.length >= MAX_COMMANDS) return;
    const choice = choiceOf(node);
    if (choice !== undefined) {
      this.#choose(node, choice);
      return;
    }
    switch (node.type) {
      case 'Command':
        this.#command(node);
        return;
      // A substitution's own commands are tools that make values, and its places are not always those of the script.
      case 'Word':
        return;
      case 'Subshell':
        this.#apart(node);
        return;
      case 'Statement': {
        const first = this.#commands.length;
        if (node.background === true && node.command.type === 'BraceGroup') this.#apart(node);
        else this.#children(node);
        if (node.background === true)
          this.#jobs.sent(Array.from({ length: this.#commands.length - first }, (_, index) => first + index));
        return;
      }
      case 'Function':
        this.#functions.set(node.name.value, node);
        if (onlyTalks(node)) this.#talking.add(node.name.value);
        else this.#talking.delete(node.name.value);
        // Of functions that nothing here calls, one may run, or none.
        if (!this.#called.has(node.name.value)) this.#chooseFrom('functions', node.name.value, [[node.body]]);
        return;
      case 'ArithmeticCommand':
        this.#store.forget({ names: countedIn(node.body), exported: [], all: false }, node);
        return;
      case 'Redirected':
        this.#children(node);
        this.#write(redirectedBy(node.redirects, this.#variables));
        return;
      default:
        if (node.type === 'Pipeline')
          for (const [command, input] of pipedTo(node, this.#script, this.#variables))
            this.#inputs.set(command, input);
        if (LOOPS.includes(node.type)) this.#repeat(node);
        else this.#children(node);
    }
  }

  /** A loop: what its body sets is known behind that in the same pass, and not before it, nor behind the loop. */
  #repeat(node: SyntaxNode): void {
    this.#variables.beginLoop(node);
    this.#uncertain += 1;
    this.#store.choose([
      () => {
        this.#children(node);
      },
    ]);
    this.#uncertain -= 1;
  }

  #children(node: SyntaxNode): void {
    forEachChild(node, (child) => {
      this.#visit(child);
    });
  }

  /** Each branch is read as if it ran; behind all of them it is not known what any of them set and wrote, and where it went. */
  #choose(node: SyntaxNode, { before, arms, outcomes }: Choice): void {
    for (const one of before) this.#visit(one);
    const { start } = this.#script.spanOf(node.pos, node.end);
    const choice = `${start}.${node.pos}`;
    const isEnding = this.#chooseFrom(choice, '', arms, outcomes);
    // Where a branch ends the script, what follows runs in its place: `if x; then exec a; fi; exec b`.
    if (isEnding && this.#branch.length < MAX_ENDINGS) this.#branch = [...this.#branch, `${choice}/rest`];
  }

  #chooseFrom(
    choice: string,
    name: string,
    arms: readonly (readonly SyntaxNode[])[],
    outcomes?: Choice['outcomes'],
  ): boolean {
    const outside = this.#branch;
    const files = this.#files;
    const folder = this.#folder.at;
    const ended = this.#jobs.ended;
    const written = new Map<string, string>();
    let isMoved = false;
    let isEnding = false;
    const begin = (at: string): void => {
      this.#folder.return(at);
      this.#variables.folder = at;
      this.#jobs.return(ended);
    };
    this.#store.choose(
      arms.map((nodes, index) => () => {
        this.#branch = [...outside, `${choice}/${name}${index}`];
        this.#files = files;
        begin(folder);
        for (const one of nodes) this.#visit(one);
        isMoved ||= this.#folder.at !== folder;
        isEnding ||= endsScript(this.#commands.at(-1), outside.length + 1);
        for (const [path, file] of this.#files) if (files.get(path) !== file) written.set(path, file.written);
      }),
      outcomes === undefined ? undefined : arms.map((arm) => outcomes.includes(arm)),
    );
    begin(isMoved ? UNKNOWN : folder);
    this.#branch = outside;
    this.#files =
      written.size === 0
        ? files
        : new Map([
            ...files,
            ...[...written].map(([path, one]) => [path, { text: undefined, written: one }] as const),
          ]);
    return isEnding;
  }

  /** Reads a subshell: what it sets, and where it goes, holds in it alone. */
  #apart(node: SyntaxNode): void {
    const restore = this.#store.save();
    const folder = this.#folder.at;
    const { isCertain } = this.#store;
    this.#store.isCertain &&= restore !== undefined;
    this.#children(node);
    this.#store.isCertain = isCertain;
    restore?.();
    this.#folder.return(folder);
    this.#variables.folder = folder;
  }

  #command(command: Command): void {
    const variables = this.#variables;
    const prefix = new Map<string, Word>();
    const assignments = command.prefix.filter((one): one is Assignment => one.type === 'Assignment');
    if (command.name === undefined) {
      for (const one of assignments) {
        variables.assign(one);
        if (/=["']?\(?["']?\$!/.test(one.text)) this.#jobs.keep(one.name);
      }
      return;
    }
    for (const one of assignments) prefix.set(one.name, variables.valueOf(one));
    const [name, ...restOfName] = variables.wordsOf(command.name);
    const tool = name?.value ?? '';
    if (DECLARING.includes(tool)) {
      if (tool !== 'export') this.#keepLocals(command.args);
      variables.declare(command.args, tool === 'export' || tool === 'declare');
      return;
    }
    const body = this.#functions.get(tool);
    if (body === undefined ? isTalk(tool, command) : this.#talking.has(tool)) return;
    const words = [
      ...(name === undefined ? [] : [name]),
      ...restOfName,
      ...command.args.flatMap((one) =>
        one.type === 'Word' ? variables.wordsOf(one) : [variables.literal(one)],
      ),
    ];
    const args = words.slice(1);
    if (body !== undefined) {
      this.#call(tool, body, args, command);
      return;
    }
    const exported = this.#store.exported.keep();
    const env = prefix.size === 0 ? exported : new Map([...exported, ...prefix]);
    const number = this.#commands.length;
    const input = this.#inputs.get(command) ?? documentOf(command.redirects, this.#script, this.#variables);
    this.#jobs.follow(
      tool,
      command.args.map(({ text }) => text),
      number,
    );
    this.#commands.push({
      words,
      env,
      branch: this.#branch,
      hasUnseenEnv: this.#store.hasUnseen,
      files: this.#files,
      folder: this.#folder.at,
      input,
      number,
      ended: this.#jobs.ended,
    });
    this.#change(tool, command, args);
    this.#write(writtenBy(command, this.#script, this.#variables, input));
  }

  /** What a command changes in its shell itself. */
  #change(tool: string, command: Command, args: readonly Word[]): void {
    if (!CHANGING.has(tool)) return;
    const variables = this.#variables;
    const texts = command.args.map(plainText);
    if (tool === 'set') this.#store.setOptions(texts);
    if (tool === 'shift' || (tool === 'set' && texts.includes('--'))) this.#store.forgetArguments(command);
    if (tool === 'unset')
      this.#store.unset(
        texts.filter((one) => !one.startsWith('-')),
        command,
      );
    const changed = changedBy(tool, args.map(textOfWord), (path) =>
      this.#library.fileAt?.(pathIn(this.#folder.at, path)),
    );
    if (changed.all || changed.names.length > 0) this.#store.forget(changed, command);
    this.#folder.follow(tool, args.map(textOfWord), this.#uncertain === 0);
    variables.folder = this.#folder.at;
  }

  /** A function runs where it is called, with the arguments of the call. */
  #call(name: string, { body }: ShellFunction, args: readonly Word[], at: Command): void {
    if (this.#calls.length >= MAX_CALLS || this.#calls.some((one) => one.name === name)) return;
    const restore = [this.#store.withArguments(givenBy(args), at)];
    this.#calls.push({ name, restore });
    this.#visit(body);
    this.#calls.pop();
    for (const one of restore.reverse()) one();
  }

  /** What a function declares is its own. */
  #keepLocals(args: Command['args']): void {
    const names = args.flatMap((one) =>
      one.type === 'Assignment' || !one.value.startsWith('-') ? plainText(one) : [],
    );
    this.#calls.at(-1)?.restore.push(this.#store.saveNames(names));
  }

  #write(written: readonly Written[]): void {
    if (written.length === 0) return;
    const files = new Map(this.#files);
    for (const { path, written: name, text } of written)
      files.set(pathIn(this.#folder.at, path), {
        text: this.#uncertain > 0 ? undefined : text,
        written: name,
      });
    this.#files = files;
  }
}

function plainText(argument: ShellWord | Assignment): string {
  return argument.type === 'Word' ? argument.value : argument.name;
}

/** Whether a script does not go on behind a command of a branch: `exec a`, `exit`. */
function endsScript(command: ShellCommand | undefined, depth: number): boolean {
  const tool = command?.words[0]?.value;
  const isLast = command !== undefined && command.branch.length === depth;
  return isLast && (tool === 'exit' || (tool === 'exec' && command.words.length > 1));
}
