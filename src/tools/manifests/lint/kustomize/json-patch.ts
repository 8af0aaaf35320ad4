import { isMap, isScalar, isSeq, type Node, Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { keyOf, type YamlAccess } from '../../yaml-access.js';
import { setValue } from './yaml-nodes.js';

/** Steps of one patch, and of one path. */
const MAX_STEPS = 1_000;

/**
 * Applies the steps of a JSON patch (RFC 6902) to an object, in place. False where one of them does not fit: Kustomize
 * refuses such a patch, and what the object would be is not known.
 */
export function applyJsonPatch(object: YAMLMap, steps: YAMLSeq, access: YamlAccess): boolean {
  if (steps.items.length > MAX_STEPS) return false;
  return steps.items.every((item) => {
    const step = access.resolve(item);
    if (!isMap(step)) return false;
    const text = (key: string): string | undefined => access.text(step, key)?.value;
    const path = pathOf(text('path'));
    const value = step.items.find((pair) => keyOf(pair) === 'value')?.value;
    if (path === undefined) return false;
    switch (text('op')) {
      case 'add':
        return put(object, path, copyOf(value), 'add');
      case 'replace':
        return put(object, path, copyOf(value), 'replace');
      case 'remove':
        return take(object, path) !== undefined;
      case 'move':
      case 'copy': {
        const from = pathOf(text('from'));
        if (from === undefined) return false;
        const found = text('op') === 'move' ? take(object, from) : nodeAt(object, from);
        return found !== undefined && put(object, path, copyOf(found), 'add');
      }
      case 'test':
        return nodeAt(object, path) !== undefined;
      default:
        return false;
    }
  });
}

/** The parts of a JSON pointer; undefined for what is none. */
function pathOf(pointer: string | undefined): readonly string[] | undefined {
  if (pointer === undefined || !pointer.startsWith('/')) return undefined;
  const parts = pointer.slice(1).split('/');
  return parts.length > MAX_STEPS
    ? undefined
    : parts.map((part) => part.replace(/~1/g, '/').replace(/~0/g, '~'));
}

function nodeAt(root: Node, path: readonly string[]): Node | undefined {
  let current: unknown = root;
  for (const part of path) {
    if (isMap(current)) current = current.items.find((pair) => keyOf(pair) === part)?.value;
    else if (isSeq(current)) current = current.items[indexOf(part, current.items.length) ?? -1];
    else return undefined;
  }
  return isMap(current) || isSeq(current) || isScalar(current) ? current : undefined;
}

/** An index of a list that is there. */
function indexOf(part: string, length: number): number | undefined {
  const index = /^(?:0|-?[1-9]\d{0,8})$/.test(part) ? Number(part) : -1;
  // As the library of Kustomize has it: negative ones count from the end.
  const actual = index < 0 ? index + length : index;
  return /^-?\d+$/.test(part) && actual >= 0 && actual < length ? actual : undefined;
}

function put(root: YAMLMap, path: readonly string[], value: Node, how: 'add' | 'replace'): boolean {
  const parent = nodeAt(root, path.slice(0, -1));
  const name = path.at(-1) ?? '';
  if (isMap(parent)) {
    const isThere = parent.items.some((one) => keyOf(one) === name);
    if (isThere || how === 'add') setValue(parent, name, value);
    return isThere || how === 'add';
  }
  if (!isSeq(parent)) return false;
  if (how === 'add' && (name === '-' || name === String(parent.items.length))) {
    parent.items.push(value);
    return true;
  }
  const index = indexOf(name, parent.items.length);
  if (index === undefined) return false;
  parent.items.splice(index, how === 'add' ? 0 : 1, value);
  return true;
}

function take(root: YAMLMap, path: readonly string[]): Node | undefined {
  const parent = nodeAt(root, path.slice(0, -1));
  const found = nodeAt(root, path);
  const name = path.at(-1) ?? '';
  if (found === undefined) return undefined;
  if (isMap(parent)) parent.items = parent.items.filter((pair) => keyOf(pair) !== name);
  else if (isSeq(parent)) parent.items.splice(indexOf(name, parent.items.length) ?? 0, 1);
  return found;
}

function copyOf(value: unknown): Node {
  return isMap(value) || isSeq(value) || isScalar(value) ? (value.clone() as Node) : new Scalar(null);
}
