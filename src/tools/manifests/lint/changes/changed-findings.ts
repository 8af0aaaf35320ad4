import { posix } from 'node:path';
import { isKustomizationFile } from '../config/kustomizations.js';
import type { TreeFiles } from '../config/tree-files.js';
import type { Finding, Place } from '../findings/finding.js';
import { MAX_RELATED } from '../findings/lint-rule.js';
import { UNKNOWN } from '../shell/words.js';
import { documentAround } from '../text/document-around.js';
import { mayDecide } from './deciding-words.js';
import { meansFile, type ScriptChange } from './script-changes.js';
import type { LineEdit } from './sed-edits.js';

/** Folders between a script and an object that it names: scripts of another part of a repository mean objects of their own. */
const MAX_CLIMB = 2;

/** What the short names of kinds are that people patch; others go by the name of the object alone. */
const KINDS: Readonly<Record<string, RegExp>> = {
  deploy: /deployment/i,
  sts: /statefulset/i,
  ds: /daemonset/i,
  cm: /configmap/i,
  svc: /\bservice\b/i,
  lws: /leaderworkerset/i,
  dgd: /dynamographdeployment/i,
  isvc: /inferenceservice/i,
  llmisvc: /llminferenceservice/i,
};

/**
 * Findings of what a script changes before it is used are notes: what it makes of the file is not read. Those about texts that cannot
 * be read stay as they are.
 */
export function withScriptChanges(
  findings: readonly Finding[],
  changes: readonly ScriptChange[],
  tree: TreeFiles,
): readonly Finding[] {
  if (changes.length === 0) return findings;
  const scripts = new Map(changes.map(({ script }) => [script.file, script.text]));
  const known = new Map<string, readonly ScriptChange[]>();
  const about = (file: string): readonly ScriptChange[] => {
    const found = known.get(file) ?? changes.filter((change) => mayMean(change, file, tree));
    known.set(file, found);
    return found;
  };
  return findings.map((finding) => {
    if (finding.severity === 'note' || finding.ruleId === 'unreadable') return finding;
    const places: readonly Place[] = [finding, ...(finding.related ?? [])];
    for (const place of places) {
      const text = tree.textAt(place.file)?.value ?? scripts.get(place.file) ?? '';
      const change = about(place.file).find((one) => changesPlace(one, place, text, place === finding));
      if (change !== undefined) return asNote(finding, change);
    }
    return finding;
  });
}

function asNote({ fix: _fix, ...finding }: Finding, { script, call }: ScriptChange): Finding {
  const place = { file: script.file, ...script.placeOf(call.at) };
  return {
    ...finding,
    severity: 'note',
    consequence: `As it is written: ${finding.consequence} ${script.file} changes it with ${call.tool} before it is used, and what it makes of it was not read.`,
    advice: `Look at what ${call.tool} makes of it. If it stays as it is written: ${finding.advice}`,
    related: [...(finding.related ?? []), { ...place, says: 'changed here' }].slice(-MAX_RELATED),
  };
}

function mayMean({ target, script }: ScriptChange, file: string, tree: TreeFiles): boolean {
  if (target === 'overlays') return isKustomizationFile(file) && isBelow(file, script.file);
  if ('paths' in target && file === script.file)
    return target.paths.some((path) => isWrittenBy(path, script.text));
  if ('paths' in target) return target.paths.some((path) => meansFile(path, script.file, file, tree));
  // What it applies itself is followed by the order of its commands.
  return file !== script.file && areClose(file, script.file);
}

/** Whether a script writes a file itself: then what it changes stands in the script. */
function isWrittenBy(path: string, text: string): boolean {
  const name =
    path
      .slice(path.lastIndexOf(UNKNOWN) + 1)
      .split('/')
      .at(-1) ?? '';
  return name !== '' && text.includes('<<') && text.split(name).length > 2;
}

function isBelow(file: string, script: string): boolean {
  const folder = posix.dirname(posix.normalize(script));
  return folder === '.' || posix.normalize(file).startsWith(`${folder}/`);
}

/** Whether two files are in one small part of a repository. */
function areClose(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => posix.dirname(posix.normalize(file)));
  const above = (folder = '.'): string[] => {
    const all = [folder];
    for (let step = 0; step < MAX_CLIMB; step += 1) all.push(posix.dirname(all.at(-1) ?? '.'));
    return all;
  };
  const common = above(a).filter((folder) => above(b).includes(folder));
  return common.length > 0;
}

/** Whether a change may reach what a finding says of a place; `isOwn` is that of the finding itself. */
function changesPlace({ target, lines }: ScriptChange, place: Place, text: string, isOwn: boolean): boolean {
  if (target === 'overlays') return true;
  if ('name' in target) return isObject(documentAround(text, place.line), target.kind, target.name);
  if (lines === undefined) return true;
  const all = text.split('\n');
  const line = all[place.line - 1] ?? '';
  if (lines.some((edit) => touches(edit, line, place.column))) return true;
  // What it puts elsewhere into the same document may be what the finding misses.
  const document = isOwn ? documentAround(text, place.line).split('\n') : [];
  return lines.some(
    (edit) =>
      mayDecide(`${edit.adds} ${edit.parts.join(' ')}`) &&
      addsMore(edit) &&
      document.some((one) => hasParts(edit, one)),
  );
}

/** Whether an edit puts more there than another value. */
function addsMore({ adds }: LineEdit): boolean {
  return adds.includes(UNKNOWN) || /(?:^|[\s"'[,])--?[a-z]|name:|[A-Z_]{4,}/.test(adds);
}

function hasParts({ parts }: LineEdit, line: string): boolean {
  return rangeOf(parts, line) !== undefined;
}

/** Where the texts of an edit stand in a line. */
function rangeOf(parts: readonly string[], line: string): readonly [number, number] | undefined {
  let from = 0;
  let first: number | undefined;
  for (const part of parts) {
    const at = line.indexOf(part, from);
    if (at === -1) return undefined;
    first ??= at;
    from = at + part.length;
  }
  return first === undefined ? [0, line.length] : [first, from];
}

/** Whether an edit may change the value that stands at a column of a line. */
function touches(edit: LineEdit, line: string, column: number): boolean {
  const range = rangeOf(edit.parts, line);
  if (range === undefined) return false;
  // An edit whose lines are not known is meant for what its names say.
  if (edit.parts.length === 0) return mayDecide(edit.adds);
  if (edit.isWhole) return true;
  const start = column - 1;
  const end = start + (/^["']?[^\s,"'\]}]*/.exec(line.slice(start))?.[0].length ?? 0);
  return range[0] <= end && start <= range[1];
}

function isObject(document: string, kind: string, name: string): boolean {
  const sign = KINDS[kind] ?? (/^\w+$/.test(kind) ? new RegExp(`\\b${kind.replace(/s$/, '')}`, 'i') : /./);
  if (!new RegExp(`kind["']?\\s*:\\s*["']?(?:${sign.source})`, 'i').test(document)) return false;
  const names = [...document.matchAll(/\bname["']?\s*:\s*["']?([\w.-]+)/g)].map(([, one = '']) => one);
  if (!name.includes(UNKNOWN)) return names.includes(name);
  // Of a name that is known only at run time its ends say which objects may be meant.
  const [start = '', end = ''] = [
    name.slice(0, name.indexOf(UNKNOWN)),
    name.slice(name.lastIndexOf(UNKNOWN) + 1),
  ];
  return names.some((one) => one.startsWith(start) && one.endsWith(end));
}
