import { isScalar, type YAMLMap } from 'yaml';
import type { PlacedText } from '../../pod-site.js';
import { placedText, type YamlAccess } from '../../yaml-access.js';
import type { BuiltObject } from './built-object.js';
import { placesAt } from './field-path.js';
import { isSelected } from './selector.js';
import { scalarOf } from './yaml-nodes.js';

/** Targets of one replacement, and paths of one target. */
const MAX_TARGETS = 100;

/**
 * Puts a value of one object into fields of others: `replacements` of a kustomization. What a value that is not known
 * here would change is unknown from then on.
 */
export function replaceFields(
  objects: readonly BuiltObject[],
  replacement: YAMLMap,
  access: YamlAccess,
): void {
  const value = sourceValue(objects, access.map(replacement, 'source'), access);
  for (const target of access.maps(replacement, 'targets').slice(0, MAX_TARGETS)) {
    const select = access.map(target, 'select');
    const rejects = access.maps(target, 'reject');
    const paths = access.texts(target, 'fieldPaths').slice(0, MAX_TARGETS);
    const options = access.map(target, 'options');
    for (const object of objects) {
      const isMeant = isSelected(object, select, access);
      if (isMeant === false || rejects.some((reject) => isSelected(object, reject, access) === true))
        continue;
      if (isMeant === 'unknown' || value === undefined) object.isUnknown = true;
      else for (const path of paths) put(object, path.value, value, options, access);
    }
  }
}

function put(
  { object }: BuiltObject,
  path: string,
  value: PlacedText,
  options: YAMLMap | undefined,
  access: YamlAccess,
): void {
  const delimiter = access.text(options, 'delimiter')?.value;
  const create = access.get(options, 'create');
  for (const place of placesAt(object, path, isScalar(create) && create.value === true)) {
    const old = placedText(place.node)?.value ?? '';
    const text =
      delimiter === undefined
        ? value.value
        : withPart(old, value.value, delimiter, access.number(options, 'index') ?? 0);
    place.put(scalarOf({ ...value, value: text }));
  }
}

/** A text with another part at an index; before the first one, and behind the last, it is a further part. */
function withPart(old: string, part: string, delimiter: string, index: number): string {
  const parts = old.split(delimiter);
  if (index < 0) parts.unshift(part);
  else if (index >= parts.length) parts.push(part);
  else parts[index] = part;
  return parts.join(delimiter);
}

/** The one scalar that is meant; undefined where there is none, or several, and for parts of files. */
function sourceValue(
  objects: readonly BuiltObject[],
  source: YAMLMap | undefined,
  access: YamlAccess,
): PlacedText | undefined {
  if (source === undefined) return undefined;
  const found = objects.filter((object) => isSelected(object, source, access) !== false);
  const [only] = found;
  if (found.length !== 1 || only === undefined || only.isUnknown) return undefined;
  const path = access.text(source, 'fieldPath')?.value ?? 'metadata.name';
  const [place, ...others] = placesAt(only.object, path, false);
  const value = others.length > 0 ? undefined : placedText(place?.node);
  const options = access.map(source, 'options');
  const delimiter = access.text(options, 'delimiter')?.value;
  if (value === undefined || delimiter === undefined) return value;
  const part = value.value.split(delimiter)[access.number(options, 'index') ?? 0];
  return part === undefined ? undefined : { ...value, value: part };
}
