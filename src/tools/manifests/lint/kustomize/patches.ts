import { posix } from 'node:path';
import { type Document, isMap, isSeq, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { YamlAccess } from '../../yaml-access.js';
import { scalarText } from '../text/scalar-text.js';
import { type BuiltObject, hasKnownSchema } from './built-object.js';
import { applyJsonPatch } from './json-patch.js';
import type { OpenKustomization } from './open-kustomization.js';
import { parsePart } from './parse-part.js';
import { isSelected, type Selected } from './selector.js';
import { directiveOf, strategicMerge } from './strategic-merge.js';
import { scalarOf, setValue } from './yaml-nodes.js';

/** One patch of a kustomization. */
export interface ReadPatch {
  /** Where it is written: the kustomization, or a file of its own. */
  readonly file: string;
  /** What it says; undefined when that is not here, or cannot be read. */
  readonly documents: readonly Document.Parsed[] | undefined;
  readonly target: YAMLMap | undefined;
  readonly access: YamlAccess;
}

/** The patches under one key of a kustomization. */
export function readPatches(
  open: OpenKustomization,
  key: 'patches' | 'patchesStrategicMerge' | 'patchesJson6902',
): readonly ReadPatch[] {
  const { root, access, file } = open;
  if (key === 'patchesStrategicMerge')
    return access.texts(root, key).map((text): ReadPatch => {
      const isInline = text.value.includes('\n');
      return {
        ...(isInline ? { file, documents: inline(open, text) } : ofFile(open, text.value)),
        target: undefined,
        access,
      };
    });
  return access.maps(root, key).map((one): ReadPatch => {
    const text = access.text(one, 'patch');
    const path = access.text(one, 'path')?.value;
    return {
      ...(text !== undefined || path === undefined
        ? { file, documents: text === undefined ? [] : inline(open, text) }
        : ofFile(open, path)),
      target: access.map(one, 'target'),
      access,
    };
  });
}

/** The files of its patches. */
export function patchPaths(root: YAMLMap, access: YamlAccess): readonly PlacedText[] {
  const listed = [...access.maps(root, 'patches'), ...access.maps(root, 'patchesJson6902')];
  return [
    ...listed.flatMap((one) =>
      access.text(one, 'patch') === undefined ? (access.text(one, 'path') ?? []) : [],
    ),
    ...access.texts(root, 'patchesStrategicMerge').filter(({ value }) => !value.includes('\n')),
  ];
}

function ofFile(
  { folder, tree, source }: OpenKustomization,
  path: string,
): Pick<ReadPatch, 'file' | 'documents'> {
  const file = posix.join(folder, path);
  const text = tree.textAt(file);
  return { file, documents: text === undefined ? undefined : parsePart(text, source) };
}

function inline({ source }: OpenKustomization, text: PlacedText): ReadPatch['documents'] {
  return parsePart(scalarText(source, text), source);
}

/** Changes the objects that a patch means, and says whether there were any. What it does is unknown where it cannot be read. */
export function applyPatch(objects: readonly BuiltObject[], patch: ReadPatch): boolean {
  const { documents, target, access } = patch;
  let isApplied = false;
  for (const object of objects) {
    const isTargeted = target === undefined ? true : isSelected(object, target, access);
    if (isTargeted === false) continue;
    if (documents === undefined) {
      object.isUnknown = true;
      continue;
    }
    for (const document of documents) {
      const own = new YamlAccess(document);
      const content = document.contents;
      const isMeant = target === undefined && isMap(content) ? isOf(object, content, own) : isTargeted;
      if (isMeant === false) continue;
      isApplied = true;
      if (isMeant === 'unknown' || !applyTo(object, content, own)) object.isUnknown = true;
    }
  }
  return isApplied;
}

function applyTo(object: BuiltObject, content: unknown, access: YamlAccess): boolean {
  if (isSeq(content)) {
    const isApplied = applyJsonPatch(object.object, content, access);
    const renamed = object.access.text(object.access.map(object.object, 'metadata'), 'name')?.value;
    if (renamed !== undefined) object.names.add(renamed);
    return isApplied;
  }
  if (!isMap(content)) return content === null;
  if (directiveOf(content) === 'delete') {
    object.object.items = [];
    return true;
  }
  const name = object.access.text(object.access.map(object.object, 'metadata'), 'name');
  strategicMerge(object.object, content, hasKnownSchema(object));
  const metadata = object.access.map(object.object, 'metadata');
  if (name !== undefined && metadata !== undefined) setValue(metadata, 'name', scalarOf(name));
  return true;
}

/** Whether a patch without a target names an object. */
function isOf(object: BuiltObject, patch: YAMLMap, access: YamlAccess): Selected {
  const metadata = access.map(patch, 'metadata');
  const namespace = access.text(metadata, 'namespace')?.value;
  const name = access.text(metadata, 'name')?.value ?? '';
  const [, group = ''] = (access.text(patch, 'apiVersion')?.value ?? '').split('/').reverse();
  const [, ownGroup = ''] = object.apiVersion.split('/').reverse();
  return (
    access.text(patch, 'kind')?.value === object.kind &&
    group === ownGroup &&
    object.names.has(name) &&
    (namespace === undefined || object.namespaces.size === 0 || object.namespaces.has(namespace))
  );
}
