import { posix } from 'node:path';
import { type Command, forEachChild, parse, type Word as ShellWord, type SyntaxNode } from 'unbash';
import { handedCommand } from '../launches/handed-command.js';
import { shellScript } from '../launches/shell-script.js';
import { everyCommand } from '../shell/every-command.js';
import { ShellVariables } from '../shell/shell-variables.js';
import { isTalk } from '../shell/talk.js';
import { VariableStore } from '../shell/variable-store.js';
import { UNKNOWN, type Word } from '../shell/words.js';
import { documentOf } from '../shell/written-files.js';
import { type InnerText, textOf } from '../text/scalar-text.js';

/** A word of a command as it is written, with `UNKNOWN` for each variable and substitution. */
export interface CallWord extends Pick<Word, 'value'> {
  readonly text: string;
  /** The names of its variables. */
  readonly names: readonly string[];
}

/** A command that changes texts or objects, wherever a script has it. */
export interface ScriptCall {
  readonly tool: string;
  /** What it is given, and the file that it reads. */
  readonly words: readonly CallWord[];
  /** The words of each command in front of it in its pipe. */
  readonly fedBy: readonly (readonly string[])[];
  /** Where it begins. */
  readonly at: number;
}

/** Such commands of one script: launch scripts have some dozens. */
const MAX_CALLS = 300;

/** Longest script that is looked through: menus that install a whole platform have some hundred thousand characters. */
const MAX_LENGTH = 1024 * 1024;

/** Scripts in scripts: `ssh host "bash -c '…'"`. */
const MAX_DEPTH = 3;

/** Programs that change a text or an object on its way to the cluster. */
const TOOLS: readonly string[] = ['sed', 'gsed', 'perl', 'yq', 'jq', 'helm', 'kubectl', 'oc', 'kustomize'];

/** What a script has in it that calls one of them. */
const MAY_CALL = new RegExp(`\\b(?:${TOOLS.join('|')})\\b`);

/** The text that `ssh HOST "sed …"` and its like hand to a shell. */
function handedText(words: readonly CallWord[]): string | undefined {
  const handed = handedCommand(words);
  return handed !== undefined && 'script' in handed ? handed.script.text.slice(handed.from) : undefined;
}

/**
 * The commands of a script that change what others have written: also in functions, branches, substitutions and scripts that it hands on, for
 * each of them may run. Their variables stay unknown.
 */
export function changingCalls(script: InnerText, depth = 0): readonly ScriptCall[] {
  if (depth > MAX_DEPTH || script.value.length > MAX_LENGTH || !MAY_CALL.test(script.value)) return [];
  const tree = parse(script.value);
  const words = new UnknownWords(script, tree);
  const calls: ScriptCall[] = [];
  for (const { command, fedBy, at } of everyCommand(tree, 'all')) {
    if (calls.length >= MAX_CALLS) break;
    if (isTalk(command.name?.value ?? '', command) || !mayChange(command)) continue;
    const own = words.of(command);
    const place = script.spanOf(at, at);
    // Others may start it: `sudo sed`, `xargs sed`, `kubectl exec pod -- sed`.
    own.forEach(({ text }, index) => {
      const tool = posix.basename(text);
      const given = own.slice(index + 1);
      if (!TOOLS.includes(tool) || given.length === 0) return;
      const feeding = fedBy.map((one) => words.of(one).map((word) => word.text));
      calls.push({ tool, words: given, fedBy: feeding, at: place.start });
    });
    const text = shellScript(own)?.text ?? handedText(own);
    const inner = text === undefined ? words.scriptIn(command) : textOf({ value: text, span: place });
    if (inner !== undefined) calls.push(...changingCalls(inner, depth + 1));
  }
  return calls;
}

/** Whether a command has the name of such a program in it, or what may be a script: of most others the words are never read. */
function mayChange({ name, args, redirects }: Command): boolean {
  return (
    redirects.some(({ type }) => type === 'HereDoc') ||
    [name, ...args].some((one) => one !== undefined && MAY_CALL.test(one.text))
  );
}

/** The words of commands of which it is not known what has run before them. */
class UnknownWords {
  readonly #script: InnerText;
  readonly #variables: ShellVariables;

  constructor(script: InnerText, tree: SyntaxNode) {
    const store = new VariableStore(script, new Map());
    store.forget({ names: [], exported: [], all: true }, tree);
    this.#script = script;
    this.#variables = new ShellVariables(script, store);
    this.#variables.folder = UNKNOWN;
  }

  /** Its name, its arguments, and the file that it reads. */
  of({ name, suffix }: Command): readonly CallWord[] {
    const rest = suffix.flatMap((one): readonly CallWord[] => {
      if (one.type === 'Word') return [this.#word(one)];
      if (one.type === 'Redirect' && one.operator === '<' && one.target !== undefined)
        return [this.#word(one.target)];
      return [];
    });
    return name === undefined ? rest : [this.#word(name), ...rest];
  }

  /** A script in its here-document: one that a shell gets, or that says so itself. */
  scriptIn({ redirects, name }: Command): InnerText | undefined {
    if (!redirects.some(({ type }) => type === 'HereDoc')) return undefined;
    const document = documentOf(redirects, this.#script, this.#variables);
    const isRun = /^(?:.*\/)?(?:sh|bash|dash|ash|zsh|ssh)$/.test(name?.value ?? '');
    return isRun || /^#!.*sh\b/.test(document?.value ?? '') ? document : undefined;
  }

  #word(word: ShellWord): CallWord {
    const text = this.#variables.textOf(word);
    return { text, value: text.includes(UNKNOWN) ? undefined : text, names: variablesIn(word) };
  }
}

/** The names of the variables in a word, but for those of substitutions. */
function variablesIn(node: SyntaxNode, names: string[] = []): readonly string[] {
  if (node.type === 'ParameterExpansion') names.push(node.parameter);
  if (node.type === 'SimpleExpansion') names.push(node.text.slice(1));
  if (node.type !== 'CommandExpansion' && node.type !== 'ProcessSubstitution')
    forEachChild(node, (child) => {
      variablesIn(child, names);
    });
  return names;
}
