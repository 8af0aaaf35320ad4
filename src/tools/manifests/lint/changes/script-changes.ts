import { posix } from 'node:path';
import type { TreeFiles } from '../config/tree-files.js';
import { UNKNOWN } from '../shell/words.js';
import { scriptText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { mayDecide } from './deciding-words.js';
import { hasDecidingKey, isDecidingPath, writesDeciding } from './key-paths.js';
import { type CallWord, changingCalls, type ScriptCall } from './script-calls.js';
import { type LineEdit, perlEdits, sedEdits } from './sed-edits.js';

/** What a script changes after a file was written and before a cluster has it. */
export interface ScriptChange {
  readonly script: TextSource;
  readonly call: ScriptCall;
  /** The files that it changes, as the script names them; or the object. */
  readonly target:
    | { readonly paths: readonly string[] }
    | { readonly kind: string; readonly name: string }
    /** All that kustomizations below the script build. */
    | 'overlays';
  /** Lines that it changes; absent where any setting may be meant. */
  readonly lines?: readonly LineEdit[];
}

/** Scripts of one set that are looked at for this. */
const MAX_SCRIPTS = 2_000;

const YAML_FILE = /\.(?:ya?ml|json)(?:\.\w+)?$/i;

/** What scripts change: with `sed` and its like in files, with `helm` by values that win, with `kubectl` in objects that are there. */
export function readScriptChanges(scripts: readonly TextSource[], tree: TreeFiles): readonly ScriptChange[] {
  return scripts
    .slice(0, MAX_SCRIPTS)
    .flatMap((script) =>
      changingCalls(scriptText(script)).flatMap((call) =>
        changesOf(call, script, tree).map((one) => ({ ...one, script, call })),
      ),
    );
}

type Change = Pick<ScriptChange, 'target' | 'lines'>;

function changesOf(call: ScriptCall, script: TextSource, tree: TreeFiles): readonly Change[] {
  switch (call.tool) {
    case 'sed':
    case 'gsed':
    case 'perl':
      return ofSed(call);
    case 'yq':
    case 'jq':
      return ofYq(call);
    case 'helm':
      return ofHelm(call, script, tree);
    case 'kustomize':
      return ofKustomize(call);
    default:
      return ofKubectl(call, script, tree);
  }
}

function ofSed({ tool, words, fedBy }: ScriptCall): readonly Change[] {
  const isPerl = tool === 'perl';
  const texts: CallWord[] = [];
  const scripts: CallWord[] = [];
  let isExtended = false;
  let isQuiet = false;
  let isInPlace = false;
  for (const [at, word] of words.entries()) {
    const { text } = word;
    const before = words[at - 1]?.text ?? '';
    const takesScript = isPerl ? /^-\w*e$/.test(before) : /^(?:-[nrEsz]*e|--expression)$/.test(before);
    if (takesScript) scripts.push(word);
    else if (text.startsWith('--expression=')) scripts.push({ ...word, text: text.slice(13) });
    else if (text.startsWith('-') && text !== '-') {
      const isShort = !text.startsWith('--');
      isExtended ||= (isShort && /^-[a-z]*[rE]/.test(text)) || text === '--regexp-extended';
      isQuiet ||= (isShort && /^-[a-zA-Z]*n/.test(text)) || /^--(?:quiet|silent)$/.test(text);
      isInPlace ||= /^-[a-zA-Z]*i/.test(text) || text.startsWith('--in-place');
    } else if (text !== '') texts.push(word);
  }
  const own = scripts.length > 0 ? scripts : texts.splice(0, 1);
  // What prints a part of a file changes nothing.
  if (isPerl ? !isInPlace : isQuiet && !isInPlace) return [];
  const files = texts
    .map(({ text }) => text)
    .filter((path) => path.includes(UNKNOWN) || YAML_FILE.test(path));
  const paths = files.length > 0 ? files : pipedFrom(fedBy);
  if (paths.length === 0) return [];
  const lines = own.flatMap(({ text, names }) =>
    (isPerl ? perlEdits(text) : sedEdits(text, isExtended)).map((edit) => ({
      ...edit,
      adds: withNames(edit.adds, names),
    })),
  );
  return lines.length === 0 ? [] : [{ target: { paths }, lines }];
}

/** What a command gets by a pipe: a file, or what a kustomization builds, whose files are not named. */
function pipedFrom(fedBy: ScriptCall['fedBy']): readonly string[] {
  for (const [tool, ...rest] of fedBy) {
    const path = tool === 'cat' ? rest.find((text) => !/^-./.test(text)) : undefined;
    if (path !== undefined) return [path];
    if (tool === 'kustomize' || rest.includes('kustomize') || (tool === 'helm' && rest.includes('template')))
      return [UNKNOWN];
  }
  return [];
}

/** What is put in place of something unknown is judged by the names of the variables. */
function withNames(text: string, names: readonly string[]): string {
  return text.includes(UNKNOWN) ? `${text} ${names.join(' ')}` : text;
}

function ofYq({ words, fedBy }: ScriptCall): readonly Change[] {
  const texts = words.filter(({ text }, at) => {
    const before = words[at - 1]?.text ?? '';
    return (
      text !== '' && !text.startsWith('-') && !/^--(?:arg|argjson|slurpfile|rawfile|indent|tab)$/.test(before)
    );
  });
  const own = texts.map(({ text }) => text).filter((path) => YAML_FILE.test(path));
  const paths = own.length > 0 ? own : pipedFrom(fedBy);
  const expression = texts.find(({ text }) => /[.=]/.test(text) && !YAML_FILE.test(text));
  if (paths.length === 0 || expression === undefined || !writesDeciding(expression.text)) return [];
  return [{ target: { paths } }];
}

function ofHelm({ words }: ScriptCall, { file }: TextSource, tree: TreeFiles): readonly Change[] {
  if (!words.some(({ text }) => /^(?:install|upgrade|template)$/.test(text))) return [];
  const valuesOf = (flags: RegExp): readonly string[] =>
    words.flatMap(({ text }, at) => {
      if (flags.test(words[at - 1]?.text ?? '')) return [text];
      const [flag = '', ...rest] = text.split('=');
      return flags.test(flag) && rest.length > 0 ? [rest.join('=')] : [];
    });
  const paths = valuesOf(/^(?:-f|--values)$/).flatMap((value) => value.split(','));
  const isSet = valuesOf(/^--set(?:-string|-json|-file|-literal)?$/)
    .flatMap((value) => [...value.matchAll(/(?:^|,)\s*((?:\\,|[^,=])+)=/g)].map(([, key = '']) => key))
    .some(isDecidingPath);
  return ofLayers(paths, isSet, file, tree);
}

/** Of several files with values the last wins, and what is set beside them wins over all. */
function ofLayers(
  paths: readonly string[],
  isSet: boolean,
  from: string,
  tree: TreeFiles,
): readonly Change[] {
  const wins = paths.map((path) => {
    const text = path.includes(UNKNOWN) ? undefined : tree.find(from, path, 2, 'whole')?.value;
    return text === undefined || hasDecidingKey(text);
  });
  const changed = paths.filter(
    (path, at) => isSet || wins.some((one, other) => other > at && one && paths[other] !== path),
  );
  return changed.length === 0 ? [] : [{ target: { paths: changed } }];
}

function ofKustomize({ words }: ScriptCall): readonly Change[] {
  const texts = words.map(({ text }) => text);
  const isPatched =
    texts[0] === 'edit' &&
    texts[1] === 'add' &&
    /^(?:patch|component|configmap|transformer)$/.test(texts[2] ?? '');
  return isPatched ? [{ target: 'overlays' }] : [];
}

/** Options of kubectl that have a value of their own. */
const WITH_VALUE =
  /^(?:-n|--namespace|--context|--type|-p|--patch|--patch-file|-o|--output|-l|--selector|-c|--containers|--kubeconfig)$/;

function ofKubectl({ words }: ScriptCall, { file }: TextSource, tree: TreeFiles): readonly Change[] {
  const texts = words.map(({ text }) => text);
  const free = texts.filter((text, at) => !text.startsWith('-') && !WITH_VALUE.test(texts[at - 1] ?? ''));
  const [verb, ...rest] = free;
  const optionOf = (flags: RegExp): string | undefined => {
    const at = texts.findIndex((text) => flags.test(text.split('=')[0] ?? ''));
    const own = texts[at]?.indexOf('=') ?? -1;
    return at === -1 ? undefined : own === -1 ? texts[at + 1] : texts[at]?.slice(own + 1);
  };
  if (verb === 'patch') {
    const path = optionOf(/^--patch-file$/);
    const given =
      path === undefined ? optionOf(/^(?:-p|--patch)$/) : tree.find(file, path, 1, 'whole')?.value;
    return given === undefined || given.includes(UNKNOWN) || mayDecide(given) ? ofObject(rest) : [];
  }
  if (verb === 'set' && rest[0] === 'env') {
    const isDeciding = rest.some(
      (text) => /^[\w\uE000]+[=-]/.test(text) && mayDecide(text.split('=')[0] ?? ''),
    );
    return isDeciding || texts.some((text) => /^--from/.test(text)) ? ofObject(rest.slice(1)) : [];
  }
  return [];
}

/** `KIND/NAME`, or `KIND NAME`. */
function ofObject([first = '', second = '']: readonly string[]): readonly Change[] {
  const [kind = '', name = second] = first.split('/');
  return name === '' ? [] : [{ target: { kind: kind.split('.')[0]?.toLowerCase() ?? '', name } }];
}

/** Whether a path of a script means a file. */
export function meansFile(path: string, script: string, file: string, tree: TreeFiles): boolean {
  const wanted = posix.normalize(file);
  const own = posix.dirname(posix.normalize(script));
  if (!path.includes(UNKNOWN)) {
    const found = tree.find(script, path, 2, 'whole')?.spanOf(0, 0).source.file;
    return found !== undefined && posix.normalize(found) === wanted;
  }
  const tail = path.slice(path.lastIndexOf(UNKNOWN) + 1);
  if (tail.startsWith('/')) return wanted.endsWith(tail);
  // A file that is known only at run time, most often one of a loop over all that are beside the script.
  return (own === '.' || wanted.startsWith(`${own}/`)) && wanted.endsWith(tail);
}
