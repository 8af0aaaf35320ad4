import { isMap, isNode, isScalar, isSeq, type Node, Pair, Scalar, type YAMLMap, type YAMLSeq } from 'yaml';
import { keyOf } from '../../yaml-access.js';

/** Lists of Kubernetes' own workloads whose items are merged by a key; every other list is replaced as a whole. */
const MERGE_KEYS: Readonly<Record<string, string | undefined>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  ports: 'containerPort',
  imagePullSecrets: 'name',
  resourceClaims: 'name',
};

/** What a patch says of a mapping or of an item instead of merging it. */
const DIRECTIVE = '$patch';

/**
 * Merges a strategic merge patch of Kustomize into a mapping, in place; `isKnown` says whether Kubernetes' own
 * schema says how lists are merged. Nodes of the patch are copied and keep their places.
 * https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/
 */
export function strategicMerge(target: YAMLMap, patch: YAMLMap, isKnown: boolean): void {
  const byName = new Map(target.items.map((pair) => [keyOf(pair), pair]));
  const removed = new Set<unknown>();
  for (const { key, value } of patch.items) {
    const name = isScalar(key) ? String(key.value) : undefined;
    if (name === undefined || name.startsWith('$')) continue;
    const existing = byName.get(name);
    if (isAbsent(value) || directiveOf(value) === 'delete') {
      removed.add(existing);
      continue;
    }
    const merged = mergedValue(name, existing?.value, value, isKnown);
    if (existing === undefined) target.items.push(new Pair(key, merged));
    else existing.value = merged;
  }
  if (removed.size > 0) target.items = target.items.filter((pair) => !removed.has(pair));
}

/** What a list item or a mapping asks for: `delete`, `replace` or `merge`. */
export function directiveOf(node: unknown): string | undefined {
  if (!isMap(node)) return undefined;
  const value = node.items.find((pair) => keyOf(pair) === DIRECTIVE)?.value;
  return isScalar(value) ? String(value.value) : undefined;
}

function mergedValue(name: string, existing: unknown, value: unknown, isKnown: boolean): Node {
  if (isMap(value)) {
    const isReplaced = directiveOf(value) === 'replace' || !isMap(existing);
    const base = isReplaced ? emptyLike(value) : existing;
    strategicMerge(base, value, isKnown);
    return base;
  }
  const mergeKey = isKnown && Object.hasOwn(MERGE_KEYS, name) ? MERGE_KEYS[name] : undefined;
  if (isSeq(value) && isSeq(existing) && mergeKey !== undefined)
    return mergeLists(existing, value, mergeKey, isKnown);
  return isNode(value) ? (value.clone() as Node) : new Scalar(value);
}

/** Items of one key are merged; those of the patch stand before the others, as Kustomize puts them. */
function mergeLists(existing: YAMLSeq, patch: YAMLSeq, mergeKey: string, isKnown: boolean): YAMLSeq {
  const items = patch.items.filter(
    (item) => directiveOf(item) !== 'replace' || keyValue(item, mergeKey) !== undefined,
  );
  if (items.length < patch.items.length) existing.items = [];
  const byKey = new Map(existing.items.map((item) => [keyValue(item, mergeKey), item]));
  const named: unknown[] = [];
  const removed = new Set<unknown>();
  for (const item of items) {
    const found = byKey.get(keyValue(item, mergeKey));
    const directive = directiveOf(item);
    if (directive === 'delete') removed.add(found);
    else if (isMap(item) && isMap(found)) {
      if (directive === 'replace') found.items = [];
      strategicMerge(found, item, isKnown);
      named.push(found);
      removed.add(found);
    } else if (isMap(item)) named.push(mergedValue('', undefined, item, isKnown));
  }
  // Of two items with one key, as JSON patches add them, one stays.
  const isLast = (item: unknown): boolean => {
    const key = keyValue(item, mergeKey);
    return key === undefined || byKey.get(key) === item;
  };
  existing.items = [...named, ...existing.items.filter((item) => !removed.has(item) && isLast(item))];
  return existing;
}

function keyValue(item: unknown, mergeKey: string): string | undefined {
  if (!isMap(item)) return undefined;
  const value = item.items.find((pair) => keyOf(pair) === mergeKey)?.value;
  return isScalar(value) ? String(value.value) : undefined;
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined || (isScalar(value) && value.value === null);
}

function emptyLike(map: YAMLMap): YAMLMap {
  const empty = map.clone() as YAMLMap;
  empty.items = [];
  return empty;
}
