import { isMap, isScalar, isSeq, type Node, type Scalar, YAMLMap } from 'yaml';
import { keyOf } from '../../yaml-access.js';
import { setValue } from './yaml-nodes.js';

/** Places that one path may mean, and parts that it may have. */
const MAX_PLACES = 1_000;

/** Where a scalar stands: putting another there. */
interface FieldPlace {
  readonly node: Node | undefined;
  put(value: Scalar): void;
}

/**
 * The places of a field path of Kustomize's replacements: `spec.template.spec.containers.[name=main].args.0`,
 * `metadata.labels.[app.kubernetes.io/name]`, `spec.*`. With `create` the last keys may be absent.
 */
export function placesAt(root: YAMLMap, path: string, create: boolean): readonly FieldPlace[] {
  const parts = partsOf(path);
  if (parts.length === 0 || parts.length > MAX_PLACES) return [];
  let parents: readonly Node[] = [root];
  for (const part of parts.slice(0, -1))
    parents = parents.flatMap((node) => below(node, part, create)).slice(0, MAX_PLACES);
  const last = parts.at(-1) ?? '';
  return parents.flatMap((node) => placesIn(node, last, create)).slice(0, MAX_PLACES);
}

/** Parts between dots; `\.` is a dot, and so is one in brackets. */
function partsOf(path: string): readonly string[] {
  return [...path.matchAll(/\[[^\]]*\]|(?:\\.|[^.\\[])+(?:\[[^\]]*\])?/g)].map(([part]) =>
    part.replace(/\\\./g, '.'),
  );
}

/** `[name=main]` as its two halves. */
function conditionOf(part: string): readonly [string, string] | undefined {
  const [, key, value] = /^\[([^=\]]+)=([^\]]*)\]$/.exec(part) ?? [];
  return key === undefined || value === undefined ? undefined : [key, value];
}

function keyIn(part: string): string {
  return /^\[([^\]]*)\]$/.exec(part)?.[1] ?? part;
}

function below(node: Node, part: string, create: boolean): readonly Node[] {
  return placesIn(node, part, false).length > 0 || !create || !isMap(node)
    ? placesIn(node, part, false).flatMap(({ node: inner }) => inner ?? [])
    : [added(node, keyIn(part))];
}

function added(map: YAMLMap, key: string): YAMLMap {
  const inner = new YAMLMap();
  inner.range = map.range ?? null;
  setValue(map, key, inner);
  return inner;
}

function placesIn(node: Node, part: string, create: boolean): readonly FieldPlace[] {
  if (isMap(node)) {
    const key = keyIn(part);
    const pairs = part === '*' ? node.items : node.items.filter((pair) => keyOf(pair) === key);
    if (pairs.length === 0 && create)
      return [{ node: undefined, put: (value) => setValue(node, key, value) }];
    return pairs.map((pair) => ({
      node: (pair.value ?? undefined) as Node | undefined,
      put: (value) => {
        pair.value = value;
      },
    }));
  }
  if (!isSeq(node)) return [];
  const condition = conditionOf(part);
  return node.items.flatMap((item, index) => {
    const isMeant =
      part === '*' || part === String(index) || (condition !== undefined && isFitting(item, condition));
    return isMeant
      ? [
          {
            node: (item ?? undefined) as Node | undefined,
            put: (value: Scalar) => {
              node.items[index] = value;
            },
          },
        ]
      : [];
  });
}

function isFitting(item: unknown, [key, value]: readonly [string, string]): boolean {
  if (!isMap(item)) return isScalar(item) && key === '' && String(item.value) === value;
  const found = item.items.find((pair) => keyOf(pair) === key)?.value;
  return isScalar(found) && String(found.value) === value;
}
