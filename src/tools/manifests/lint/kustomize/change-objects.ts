import { isMap, isScalar, visit, YAMLMap } from 'yaml';
import { keyOf } from '../../yaml-access.js';
import type { BuiltObject } from './built-object.js';
import { setImages } from './images.js';
import type { OpenKustomization } from './open-kustomization.js';
import { applyPatch, type ReadPatch, readPatches } from './patches.js';
import { replaceFields } from './replacements.js';
import { scalarOf, setValue } from './yaml-nodes.js';

/** Changes of one kind that one kustomization may make. */
export const MAX_CHANGES = 200;

/** Changes objects as a kustomization says, in the order of Kustomize. The files of patches that changed something go into `applied`. */
export function changeObjects(
  objects: readonly BuiltObject[],
  open: OpenKustomization,
  applied: Set<string>,
): void {
  const { root, access } = open;
  const apply = (patches: readonly ReadPatch[]): void => {
    for (const patch of patches.slice(0, MAX_CHANGES))
      if (applyPatch(objects, patch)) applied.add(patch.file);
  };
  apply(readPatches(open, 'patchesStrategicMerge'));
  apply(readPatches(open, 'patches'));
  rename(objects, open);
  for (const object of objects) addLabels(object, open);
  apply(readPatches(open, 'patchesJson6902'));
  const images = access.maps(root, 'images').slice(0, MAX_CHANGES);
  if (images.length > 0) for (const { object, access: own } of objects) setImages(object, images, own);
  for (const replacement of access.maps(root, 'replacements').slice(0, MAX_CHANGES)) {
    const text = access.text(replacement, 'path');
    if (text !== undefined) for (const object of objects) object.isUnknown = true;
    else replaceFields(objects, replacement, access);
  }
  const names = access.maps(root, 'vars').flatMap((one) => access.text(one, 'name')?.value ?? []);
  if (names.length > 0) for (const object of objects) object.isUnknown ||= namesVariable(object, names);
}

/** The namespace counts from here on; names stay as they are, and a patch may use those that a prefix makes. */
function rename(objects: readonly BuiltObject[], { root, access }: OpenKustomization): void {
  const namespace = access.text(root, 'namespace');
  const prefix = access.text(root, 'namePrefix')?.value ?? '';
  const suffix = access.text(root, 'nameSuffix')?.value ?? '';
  for (const { object, access: own, names, namespaces } of objects) {
    if (namespace !== undefined) {
      const metadata = own.map(object, 'metadata');
      if (metadata !== undefined) setValue(metadata, 'namespace', scalarOf(namespace));
      namespaces.add(namespace.value);
    }
    if (prefix + suffix !== '') for (const name of [...names]) names.add(`${prefix}${name}${suffix}`);
  }
}

/** Labels that pods get: by `commonLabels`, and by `labels` that are for templates too. */
function addLabels({ object, access: own }: BuiltObject, { root, access }: OpenKustomization): void {
  const isTrue = (map: YAMLMap, key: string): boolean => {
    const node = access.get(map, key);
    return isScalar(node) && node.value === true;
  };
  const template = own.map(object, 'spec', 'template');
  if (template === undefined) return;
  const given = [
    access.map(root, 'commonLabels'),
    ...access
      .maps(root, 'labels')
      .filter((one) => isTrue(one, 'includeSelectors') || isTrue(one, 'includeTemplates'))
      .map((one) => access.map(one, 'pairs')),
  ];
  for (const { key, value } of given.flatMap((labels) => access.textEntries(labels)))
    setValue(mapUnder(mapUnder(template, 'metadata'), 'labels'), key.value, scalarOf(value));
}

function mapUnder(map: YAMLMap, key: string): YAMLMap {
  const existing = map.items.find((pair) => keyOf(pair) === key)?.value;
  if (isMap(existing)) return existing;
  const made = new YAMLMap();
  made.range = map.range ?? null;
  setValue(map, key, made);
  return made;
}

/** Whether an object has one of the variables of Kustomize in a text: `$(NAME)`. */
function namesVariable({ object }: BuiltObject, names: readonly string[]): boolean {
  let found = false;
  visit(object, {
    Scalar(_key, { value }) {
      if (typeof value !== 'string') return undefined;
      found = names.some((name) => value.includes(`$(${name})`));
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}
