import { isScalar } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import type { TreeFiles } from '../config/tree-files.js';
import { UNKNOWN } from '../shell/words.js';
import type { TextSource } from '../text/span.js';
import { mayDecide } from './deciding-words.js';
import { hasDecidingKey, isDecidingPath } from './key-paths.js';
import type { ScriptChange } from './script-changes.js';

/** A file of helmfile, also as a template and in its folder. */
const HELMFILE = /(?:^|\/)(?:helmfile[\w.-]*|helmfile\.d\/[^/]+)\.ya?ml(?:\.gotmpl)?$/;

/** Lines of one file that are read, and layers of one release. */
const MAX_LINES = 5_000;
const MAX_LAYERS = 50;

/** What one release is given: a file of values, or values that stand in the list itself, and in which branches of the template. */
interface Layer {
  readonly path: string | undefined;
  /** Those values, line by line. */
  text: string;
  readonly at: number;
  readonly branches: ReadonlyMap<number, number>;
}

/** Whether a file is one of helmfile. */
export function isHelmfile(file: string): boolean {
  return HELMFILE.test(file);
}

/** Files of values over which helmfile puts others that set what findings are about: of one list the last wins, and `set` over all. */
export function helmfileChanges(files: readonly TextSource[], tree: TreeFiles): readonly ScriptChange[] {
  return files.flatMap((script) =>
    releasesIn(script.text).flatMap(({ layers, set }) =>
      layers.flatMap((layer, index): readonly ScriptChange[] => {
        const { path, at } = layer;
        if (path === undefined) return [];
        const isChanged =
          set.some((one) => isDecidingSet(one, path, script.file, tree)) ||
          layers
            .slice(index + 1)
            .some((other) => isAlwaysOver(other, layer) && wins(other, script.file, tree));
        const call = { tool: 'helmfile', words: [], fedBy: [], at };
        return isChanged ? [{ script, call, target: { paths: [path] } }] : [];
      }),
    ),
  );
}

/** The value of one variable, which a list has by its number. */
const ONE_VARIABLE = /^(.*\benv\[\d+\])\.value$/;

/** Whether one value that is set may be about what findings are about: of one variable its name in the list says it. */
function isDecidingSet(name: string, path: string, from: string, tree: TreeFiles): boolean {
  const [, variable] = ONE_VARIABLE.exec(name) ?? [];
  const values = variable === undefined ? undefined : tree.find(from, path, 2, 'whole')?.value;
  if (variable === undefined || values === undefined) return isDecidingPath(name);
  const keys = variable.split(/[.[\]]+/).filter((key) => key !== '');
  const [document] = readSourceFile(path, values).documents;
  const node = document?.getIn([...keys.map((key) => (/^\d+$/.test(key) ? Number(key) : key)), 'name'], true);
  return !isScalar(node) || mayDecide(String(node.value));
}

function wins({ path, text }: Layer, from: string, tree: TreeFiles): boolean {
  if (path === undefined) return hasDecidingKey(text);
  const own = path.includes(UNKNOWN) ? undefined : tree.find(from, path, 2, 'whole')?.value;
  return own === undefined || hasDecidingKey(own);
}

/** Whether a layer is there whenever another one is: one that a branch of the template leaves out leaves the other as it is. */
function isAlwaysOver(other: Layer, one: Layer): boolean {
  return [...other.branches].every(([choice, arm]) => one.branches.get(choice) === arm);
}

/** The layers of each release, read line by line: most such files are templates. */
function releasesIn(text: string): readonly {
  readonly layers: readonly Layer[];
  /** The paths of single values that are set over all. */
  readonly set: readonly string[];
}[] {
  const releases: { layers: Layer[]; set: string[] }[] = [];
  const open = new Map<number, number>();
  const choices: number[] = [];
  let seen = 0;
  let isInReleases = false;
  let list: { readonly key: string; readonly indent: number } | undefined;
  let item = -1;
  let inline: Layer | undefined;
  let at = 0;
  for (const line of text.split('\n').slice(0, MAX_LINES)) {
    const start = at;
    at += line.length + 1;
    follow(line);
    const content = line.replace(/\{\{.*?\}\}/g, UNKNOWN);
    if (/^\s*(?:#|$)/.test(content) || new RegExp(`^\\s*${UNKNOWN}\\s*$`).test(content)) continue;
    const indent = content.search(/\S/);
    if (/^releases:/.test(content)) isInReleases = true;
    else if (indent === 0 && /^[a-zA-Z]/.test(content)) isInReleases = false;
    if (!isInReleases) continue;
    const isItem = /^\s*- /.test(content);
    if (list !== undefined && (indent < list.indent || (indent === list.indent && !isItem))) list = undefined;
    const release = releases.at(-1);
    if (list === undefined) {
      if (/^\s*- /.test(content) && (item === -1 || indent <= item)) {
        item = indent;
        releases.push({ layers: [], set: [] });
      }
      const key = /^[\s-]*(values|set|setString):\s*$/.exec(content)?.[1];
      if (key !== undefined) list = { key, indent: content.indexOf(key) };
      inline = undefined;
      continue;
    }
    if (release === undefined) continue;
    if (list.key !== 'values') {
      const name = /^[\s-]*name:\s*["']?([^"'\s]+)/.exec(content)?.[1];
      if (name !== undefined && release.set.length < MAX_LAYERS) release.set.push(name);
      continue;
    }
    const value = isItem && indent <= list.indent + 4 ? /^\s*- (.*)$/.exec(content)?.[1]?.trim() : undefined;
    const path = /^["']?([^\s"':{][^\s"':]*\.ya?ml(?:\.gotmpl)?)["']?(?:\s+#.*)?$/.exec(value ?? '')?.[1];
    if (value === undefined) {
      if (inline !== undefined) inline.text += `${content}\n`;
      continue;
    }
    const layer: Layer = { path, text: value, at: start + indent, branches: new Map(open) };
    inline = path === undefined ? layer : undefined;
    layer.text += '\n';
    if (release.layers.length < MAX_LAYERS) release.layers.push(layer);
  }
  return releases;

  /** The branches of the template: `if`, `else` and `end` on lines of their own. */
  function follow(line: string): void {
    for (const [, word = ''] of line.matchAll(/\{\{-?\s*(if|with|range|else|end)\b/g)) {
      const current = choices.at(-1);
      if (word === 'end') {
        choices.pop();
        if (current !== undefined) open.delete(current);
      } else if (word === 'else') {
        if (current !== undefined) open.set(current, (open.get(current) ?? 0) + 1);
      } else {
        seen += 1;
        choices.push(seen);
        open.set(seen, 0);
      }
    }
  }
}
