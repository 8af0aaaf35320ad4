import { posix } from 'node:path';
import type { Span } from '../text/span.js';
import type { BuiltObject } from './built-object.js';

/** Why kubectl does not build a kustomization. */
export interface Refusal {
  /** A file that is not in or below its folder, or two objects of one name. */
  readonly kind: 'outside' | 'twice';
  /** The entry that names it. */
  readonly span: Span;
  /** The path, or the object. */
  readonly what: string;
}

/** Whether a file stands in or below the folder of its kustomization. */
export function isBelow(folder: string, path: string): boolean {
  return !posix.relative(folder, path).startsWith('..');
}

/** An object that is there already under the same version, kind, namespace and name: the first such one. */
export function repeated(
  known: readonly BuiltObject[],
  added: readonly BuiltObject[],
): BuiltObject | undefined {
  const ids = new Set(known.map((one) => idOf(one)));
  return added.find((one) => {
    const id = idOf(one);
    const isKnown = id !== undefined && ids.has(id);
    ids.add(id);
    return isKnown;
  });
}

/** Undefined where a name is not written, or not known. */
function idOf({ apiVersion, kind, names, namespaces, isUnknown }: BuiltObject): string | undefined {
  const name = [...names].at(-1);
  return name === undefined || kind === '' || isUnknown
    ? undefined
    : JSON.stringify([apiVersion, kind, [...namespaces].at(-1) ?? '', name]);
}
