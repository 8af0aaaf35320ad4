import { isMap, type YAMLMap } from 'yaml';
import type { YamlAccess } from '../../yaml-access.js';
import type { BuiltObject } from './built-object.js';

/** Whether a patch, a replacement or a label means an object; `unknown` where that cannot be said here. */
export type Selected = boolean | 'unknown';

/** Keys of a selector that are compared. */
const FIELDS = ['group', 'version', 'kind', 'name', 'namespace'] as const;

/** Whether a `target` or a `select` means an object. One that says nothing means all. */
export function isSelected(object: BuiltObject, selector: YAMLMap | undefined, access: YamlAccess): Selected {
  if (selector === undefined) return true;
  let found: Selected = true;
  for (const field of FIELDS) {
    const wanted = access.text(selector, field)?.value;
    if (wanted === undefined || wanted === '') continue;
    const values = valuesOf(object, field);
    const matches = values.map((value) => isMatching(wanted, value));
    if (matches.includes(true)) continue;
    if (!matches.includes('unknown')) return false;
    found = 'unknown';
  }
  const labels = access.text(selector, 'labelSelector')?.value;
  if (labels !== undefined) {
    const has = hasLabels(object, labels);
    if (has === false) return false;
    if (has === 'unknown') found = 'unknown';
  }
  return access.get(selector, 'annotationSelector') === undefined ? found : 'unknown';
}

function valuesOf(object: BuiltObject, field: (typeof FIELDS)[number]): readonly string[] {
  if (field === 'name') return [...object.names];
  if (field === 'kind') return [object.kind];
  if (field === 'namespace') return [...object.namespaces];
  const [version = '', group = ''] = object.apiVersion.split('/').reverse();
  return [field === 'group' ? group : version];
}

/** Kustomize reads these as regular expressions of the whole text. Texts, alternatives and `.*` are followed; no other one is. */
function isMatching(pattern: string, value: string): Selected {
  if (pattern === value) return true;
  const plain = pattern.replace(/^\^?\(?|\)?\$?$/g, '');
  if (/[\\[\](){}+?^$]/.test(plain)) return 'unknown';
  return plain.split('|').some((one) => fits(one.split('.*'), value));
}

/** Whether a value is these texts in their order, with anything between them. */
function fits(texts: readonly string[], value: string): boolean {
  const [first = '', ...rest] = texts;
  const last = rest.pop();
  if (last === undefined) return value === first;
  if (!value.startsWith(first)) return false;
  let at = first.length;
  for (const text of rest) {
    const found = value.indexOf(text, at);
    if (found === -1) return false;
    at = found + text.length;
  }
  return value.length - last.length >= at && value.endsWith(last);
}

function hasLabels({ access, object }: BuiltObject, selector: string): Selected {
  const labels = access.map(object, 'metadata', 'labels');
  const wanted = selector.split(',').map((one) => /^\s*([\w./-]+)\s*==?\s*([\w.-]*)\s*$/.exec(one));
  if (wanted.includes(null)) return 'unknown';
  return wanted.every((one) => isMap(labels) && access.text(labels, one?.[1] ?? '')?.value === one?.[2]);
}
