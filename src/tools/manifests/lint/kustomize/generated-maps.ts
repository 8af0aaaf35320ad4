import { posix } from 'node:path';
import { Document, Scalar, YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { YamlAccess } from '../../yaml-access.js';
import type { TreeFiles } from '../config/tree-files.js';
import { scalarText } from '../text/scalar-text.js';
import type { BuiltObject } from './built-object.js';
import type { JoinedSource } from './joined-source.js';
import { scalarOf, setValue } from './yaml-nodes.js';

/** Values of one ConfigMap, and lines of one file of variables, that are read. */
const MAX_VALUES = 1_000;

/**
 * The ConfigMap that a generator of a kustomization makes, of literals, files and files of variables, as an object whose
 * values stand where they are written. One of a file that is not here is unknown.
 */
export function generateMap(
  generator: YAMLMap,
  access: YamlAccess,
  {
    folder,
    tree,
    source,
  }: { readonly folder: string; readonly tree: TreeFiles; readonly source: JoinedSource },
): Omit<BuiltObject, 'part'> | undefined {
  const name = access.text(generator, 'name');
  if (name === undefined) return undefined;
  const data = new YAMLMap();
  data.range = generator.range ?? null;
  let isUnknown = false;
  const set = (key: string, value: string, start: number, end: number): void => {
    const scalar = new Scalar(value);
    scalar.range = [start, end, end];
    setValue(data, key, scalar);
  };
  const add = (path: string): { readonly value: string; readonly start: number } | undefined => {
    const text = tree.besideAt(posix.join(folder, path));
    const start = text === undefined ? undefined : source.add(text);
    isUnknown ||= start === undefined;
    return text === undefined || start === undefined ? undefined : { value: text.value, start };
  };
  for (const literal of access.texts(generator, 'literals').slice(0, MAX_VALUES)) {
    const at = literal.value.indexOf('=');
    if (at === -1) continue;
    const { start, end } = scalarText(source, literal).spanOf(at + 1, literal.value.length);
    set(literal.value.slice(0, at), literal.value.slice(at + 1).replace(/^(["'])(.*)\1$/s, '$2'), start, end);
  }
  for (const { value } of access.texts(generator, 'files').slice(0, MAX_VALUES)) {
    const at = value.indexOf('=');
    const path = value.slice(at + 1);
    const text = add(path);
    if (text !== undefined)
      set(
        at === -1 ? posix.basename(path) : value.slice(0, at),
        text.value,
        text.start,
        text.start + text.value.length,
      );
  }
  const env = access.text(generator, 'env');
  for (const { value } of [...access.texts(generator, 'envs'), ...(env === undefined ? [] : [env])]) {
    const text = add(value);
    if (text === undefined) continue;
    let start = text.start;
    for (const line of text.value.split('\n').slice(0, MAX_VALUES)) {
      const at = line.indexOf('=');
      const end = start + line.trimEnd().length;
      if (at > 0 && !line.trimStart().startsWith('#'))
        set(line.slice(0, at).trim(), line.slice(at + 1).trimEnd(), start + at + 1, end);
      start += line.length + 1;
    }
  }
  return { ...objectOf(name, access.text(generator, 'namespace'), data), isUnknown };
}

function objectOf(
  name: PlacedText,
  namespace: PlacedText | undefined,
  data: YAMLMap,
): Omit<BuiltObject, 'part' | 'isUnknown'> {
  const object = new YAMLMap();
  const metadata = new YAMLMap();
  for (const map of [object, metadata]) map.range = [name.start, name.end, name.end];
  setValue(metadata, 'name', scalarOf(name));
  if (namespace !== undefined) setValue(metadata, 'namespace', scalarOf(namespace));
  setValue(object, 'apiVersion', scalarOf({ ...name, value: 'v1' }));
  setValue(object, 'kind', scalarOf({ ...name, value: 'ConfigMap' }));
  setValue(object, 'metadata', metadata);
  setValue(object, 'data', data);
  const document = new Document() as Document.Parsed;
  document.contents = object as unknown as Document.Parsed['contents'];
  return {
    access: new YamlAccess(document),
    object,
    document,
    apiVersion: 'v1',
    kind: 'ConfigMap',
    names: new Set([name.value]),
    namespaces: new Set(namespace === undefined ? [] : [namespace.value]),
  };
}
