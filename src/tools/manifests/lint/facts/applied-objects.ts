import { posix } from 'node:path';
import { isMap, isScalar, visit, YAMLMap } from 'yaml';
import { type ObjectNode, readObjects } from '../../read-pod-sites.js';
import { placesIn } from '../../source-file.js';
import type { BuiltObject } from '../kustomize/built-object.js';
import { JoinedSource } from '../kustomize/joined-source.js';
import { parsePart } from '../kustomize/parse-part.js';
import { scalarAt, setValue } from '../kustomize/yaml-nodes.js';
import { unchecked } from '../launches/unchecked-launches.js';
import type { ShellCommand } from '../shell/shell-command.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import { pathIn } from '../shell/working-folder.js';
import type { InnerText } from '../text/scalar-text.js';
import { type Span, type TextSource, textAt } from '../text/span.js';
import { namesProgram } from '../text/text-kinds.js';
import type { Material } from './material.js';
import { type OverlayPrograms, programsOf } from './overlays.js';

/** Texts of one script that are read. */
const MAX_TEXTS = 500;

/** Programs that give documents to a cluster, and the commands with which they do. */
const APPLYING = /\b(?:kubectl|oc|helm)\b/;
const VERBS: Readonly<Record<string, readonly string[]>> = {
  kubectl: ['apply', 'create', 'replace'],
  oc: ['apply', 'create', 'replace'],
  helm: ['install', 'upgrade'],
};
const TAKING_AWAY: readonly string[] = ['delete', 'uninstall'];

/** Commands that change an object which is there: `kubectl patch deployment NAME`, `kubectl set env deployment/NAME A=b`. */
const CHANGING: readonly string[] = ['patch', 'set', 'edit'];

/** Options behind which a document is named, and one that changes what it says. */
const FILE_FLAGS: readonly string[] = ['-f', '--filename', '--values'];
const SETTING = /^--set(?:-\w+)?(?:=|$)/;

/** A line that comes of a variable as a whole: it may be any number of lines. */
const UNKNOWN_LINE = new RegExp(`^[ \\t]*(?:- )?${UNKNOWN}[^:\\n]*$`, 'm');

/** Keys of values that decide nothing here. */
const HARMLESS =
  /token|secret|password|key|image|repository|tag|name|class|size|storage|replica|cpu|memory|gpu|path|url|host|label/i;

const UNREAD = {
  program: 'manifests of a script',
  reason: 'they are no YAML that can be read until their variables are known',
};
const UNKNOWN_PART = 'a part of it comes of a variable that is known only at run time';

/**
 * What scripts give to a cluster: here-documents of `kubectl apply -f -`, and files that they write and apply; of Helm the values.
 * All of one script serves together, up to a point where it takes something away or applies an object for the second time.
 */
export function readApplied(scripts: readonly TextSource[], material: Material): readonly OverlayPrograms[] {
  return scripts.flatMap((script) =>
    script.text.includes('<<') && APPLYING.test(script.text) && namesProgram(script.text)
      ? objectsIn(script, material.scripts)
          .map(({ source, objects, unread }): OverlayPrograms => {
            const programs = programsOf({ source, objects, outside: [], refusals: [] }, material, {
              unknown: UNKNOWN_PART,
              isCertain,
            });
            const named = unread.map((span) => [unchecked(UNREAD, span)]);
            return { ...programs, sets: [...programs.sets, ...named], isWhole: false, isScript: true };
          })
          .filter(({ views, sets }) => views.length + sets.length > 0)
      : [],
  );
}

/** Objects that are there at one time. */
export interface Applied {
  readonly source: JoinedSource;
  readonly objects: BuiltObject[];
  /** Texts that are no YAML until their variables are known. */
  readonly unread: Span[];
}

/** What a script applies, in the order of its time. `fileAt` gives a file that was there before the script began. */
export function objectsIn(
  script: TextSource,
  scripts: Material['scripts'],
  fileAt: (path: string) => InnerText | undefined = () => undefined,
): readonly Applied[] {
  const epochs: Applied[] = [];
  let isOpen = false;
  let left = MAX_TEXTS;
  for (const command of scripts.of(script)) {
    if (takesAway(command)) isOpen = false;
    for (const { objects } of isOpen ? epochs.slice(-1) : [])
      for (const [at, one] of objects.entries())
        if (isChangedBy(command, one)) objects[at] = { ...one, isUnknown: true };
    for (const text of textsOf(command, fileAt)) {
      left -= 1;
      if (left < 0) return epochs;
      const current = isOpen ? epochs.at(-1) : undefined;
      const here: Applied = current ?? emptyOf(script);
      const objects = builtOf(text, here.source, command);
      if (objects === undefined) {
        if (!namesProgram(text.value)) continue;
        here.unread.push(text.spanOf(0, 1));
      } else if (objects.some((one) => here.objects.some((other) => isSame(one, other)))) {
        const next = emptyOf(script);
        next.objects.push(...(builtOf(text, next.source, command) ?? []));
        epochs.push(next);
        continue;
      } else {
        if (objects.length === 0) continue;
        here.objects.push(...objects);
      }
      if (here !== current) epochs.push(here);
      isOpen = true;
    }
  }
  return epochs;
}

function emptyOf({ file }: TextSource): Applied {
  return { source: new JoinedSource(file, () => false), objects: [], unread: [] };
}

function toolOf({ words }: ShellCommand): { readonly tool: string; readonly values: readonly string[] } {
  const values = words.map(textOfWord);
  const at = values.findIndex((value) => !/^(?:sudo|exec|time|\w+=.*)$/.test(value));
  return { tool: posix.basename(values[at] ?? ''), values: values.slice(at + 1) };
}

function takesAway(command: ShellCommand): boolean {
  const { tool, values } = toolOf(command);
  return Object.hasOwn(VERBS, tool) && values.some((value) => TAKING_AWAY.includes(value));
}

/** Whether a command may change what was applied before. What it makes of it is not read. */
function isChangedBy(command: ShellCommand, { names }: BuiltObject): boolean {
  const { tool, values } = toolOf(command);
  if ((tool !== 'kubectl' && tool !== 'oc') || !values.some((value) => CHANGING.includes(value)))
    return false;
  const targets = values.map((value) => value.split('/').at(-1) ?? '');
  return targets.some((target) => names.has(target) || target === UNKNOWN || target === '--all');
}

/** The documents that a command gives to a cluster: those that stand in its script, and files that are there. */
function textsOf(
  command: ShellCommand,
  fileAt: (path: string) => InnerText | undefined,
): readonly InnerText[] {
  const { tool, values } = toolOf(command);
  const verbs = Object.hasOwn(VERBS, tool) ? (VERBS[tool] ?? []) : [];
  if (!values.some((value) => verbs.includes(value)) || values.some((value) => value.startsWith('--dry-run')))
    return [];
  // Values that are set beside a file win over it.
  if (values.some((value) => SETTING.test(value))) return [];
  const paths = values.flatMap((value, at) => {
    if (FILE_FLAGS.includes(values[at - 1] ?? '')) return [value];
    const equals = value.indexOf('=');
    return FILE_FLAGS.includes(value.slice(0, Math.max(0, equals))) ? [value.slice(equals + 1)] : [];
  });
  // Of several files with values the last wins.
  if (tool === 'helm' && paths.length > 1) return [];
  return paths.flatMap((path) => {
    if (path === '-' || path === '/dev/stdin') return command.input ?? [];
    if (path.includes(UNKNOWN)) return [];
    const full = pathIn(command.folder, path).replace(/\/+$/, '');
    const written = [...command.files].filter(
      ([name]) => name === full || (name.startsWith(`${full}/`) && /\.(?:ya?ml|json)$/.test(name)),
    );
    return written.length === 0
      ? [fileAt(full)].filter((text) => text !== undefined)
      : written.flatMap(([, { text }]) => text ?? []);
  });
}

/** Undefined for what cannot be read. */
function builtOf(
  text: InnerText,
  source: JoinedSource,
  command: ShellCommand,
): readonly BuiltObject[] | undefined {
  const documents = parsePart(text, source);
  if (documents === undefined) return undefined;
  const isUnknown = UNKNOWN_LINE.test(text.value);
  const namespace = namespaceOf(command);
  const isOfHelm = toolOf(command).tool === 'helm';
  const origin = text.spanOf(0, 1).source.file;
  const file = { file: source.file, text: '', documents, problems: [], placeOf: placesIn('') };
  return readObjects(file).flatMap((node): readonly BuiltObject[] => {
    const kind = node.access.text(node.object, 'kind')?.value;
    if (isOfHelm !== (kind === undefined)) return [];
    if (namespace !== undefined && kind !== undefined) inNamespace(node, namespace);
    const metadata = node.access.map(node.object, 'metadata');
    const named = (key: string): Set<string> => {
      const value = node.access.text(metadata, key)?.value;
      return new Set(value === undefined ? [] : [value]);
    };
    const [names, namespaces] = [named('name'), named('namespace')];
    const apiVersion = node.access.text(node.object, 'apiVersion')?.value ?? '';
    const { branch } = command;
    return [
      {
        ...node,
        ...{ apiVersion, kind: kind ?? '', names, namespaces, isUnknown },
        // A file that is there may be a deployment by itself.
        part: [...branch, ...(origin === source.file ? [] : [origin])].join('\n'),
        ...(branch.length === 0 ? {} : { branch }),
      },
    ];
  });
}

/** The namespace that a command names; as it is written where it is known only at run time. */
function namespaceOf({ words }: ShellCommand): string | undefined {
  for (const [at, word] of words.entries()) {
    const text = textOfWord(word);
    const own = /^(?:--namespace=|-n=)/.test(text) ? word : undefined;
    const found = own ?? (/^(?:-n|--namespace)$/.test(text) ? words[at + 1] : undefined);
    if (found !== undefined)
      return (found.value ?? textAt(found.span)).replace(/^(?:--namespace|-n)=/, '').replace(/["']/g, '');
  }
  return undefined;
}

/** What says of no namespace is in that of the command. */
function inNamespace({ access, object }: ObjectNode, namespace: string): void {
  let metadata = access.map(object, 'metadata');
  if (metadata === undefined) {
    metadata = new YAMLMap();
    metadata.range = object.range ?? null;
    setValue(object, 'metadata', metadata);
  }
  if (access.text(metadata, 'namespace') === undefined)
    setValue(metadata, 'namespace', scalarAt(namespace, metadata));
}

/** Whether one object takes the place of another. */
function isSame(one: BuiltObject, other: BuiltObject): boolean {
  const key = ({ kind, names, namespaces }: BuiltObject): string =>
    JSON.stringify([kind, [...names], [...namespaces]]);
  const within = (a: BuiltObject, b: BuiltObject): boolean =>
    (b.branch ?? []).every((step, at) => a.branch?.[at] === step);
  return key(one) === key(other) && (within(one, other) || within(other, one));
}

/** Whether what is not known of a configuration decides nothing. */
function isCertain({ document }: ObjectNode): boolean {
  let isKnown = true;
  if (!isMap(document.contents)) return true;
  visit(document, {
    Pair(_key, { key, value }) {
      const name = isScalar(key) ? String(key.value) : '';
      const text = isScalar(value) ? String(value.value) : '';
      if (name.includes(UNKNOWN) || (text.includes(UNKNOWN) && !HARMLESS.test(name))) isKnown = false;
      return isKnown ? undefined : visit.BREAK;
    },
    Seq(_key, { items }) {
      if (items.some((item) => isScalar(item) && String(item.value).includes(UNKNOWN))) isKnown = false;
      return isKnown ? undefined : visit.BREAK;
    },
  });
  return isKnown;
}
